package redis

import (
	"context"
	"fmt"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetNXExpire acquires by SETNX, and sets the lease by a second command. Its defect: a client that dies between the two
// commands leaves a key that never expires.
func SetNXExpire() impls.Impl {
	return impls.Impl{
		Name: "setnx-expire", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause, TwoSteps: true,
		Doc: "SETNX, then PEXPIRE, then a plain DEL: a crash between the first two locks forever",
		Expect: slices.Concat(
			expect.Excludes("SETNX is atomic, and no hold of this workload outlives its lease"),
			expect.Holds("no client dies between SETNX and PEXPIRE, and every holder deletes its key", "no-orphan", "progress"),
			expect.Under("kill-between", expect.Violated("the client dies before it sets the key's expiry", "recovery", "no-orphan")),
			plainDelete()),
		Open: openSimple(func(s single) (attempt, release) { return s.setThenExpire, s.deleteKey }),
	}
}

func (s single) setThenExpire(ctx context.Context, req impls.Request) (impls.Grant, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Grant{}, err
	}
	g, err := s.setForever(ctx, req)
	if err != nil {
		return g, err
	}
	// As published, the lock ignores whether the key still exists.
	if _, err := s.pexpire(ctx, req.Key, req.TTL); err != nil {
		return g, fmt.Errorf("pexpire: %w", err)
	}
	g.Validity = req.TTL
	return g, nil
}
