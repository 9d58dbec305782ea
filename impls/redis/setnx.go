package redis

import (
	"context"
	"fmt"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetNX is the first lock of every article. Its defect is that nothing frees the key of a holder that died.
func SetNX() impls.Impl {
	return impls.Impl{
		Name: "setnx", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "SETNX and DEL: excludes, and stays locked for ever when its holder dies",
		Expect: slices.Concat(
			expect.Excludes("SETNX is atomic and the key never expires: one holder until its DEL"),
			expect.Holds("without a crash every holder deletes its key", "no-orphan", "progress"),
			expect.Under("holder-stall process-pause clock-forward", expect.Excludes("the key has no lease that could run out")),
			expect.Under("holder-kill", expect.Violated("nobody deletes the key of a holder that died, and it never expires", "recovery", "no-orphan")),
			expect.Under("lost-reply cancelled-acquire", expect.Violated("the key was set, who asked does not know it, and it never expires", "no-orphan")),
			expect.Under("failover", expect.Violated("the replica that takes over has never heard of the key", "lease-exclusion", "mutual-exclusion")),
			expect.In("misuse", expect.Violated("DEL asks nobody whose key it is", "owner-release")),
			expect.In("long-hold", expect.Holds("the key has no lease that could run out", "lease-exclusion", "mutual-exclusion"))),
		Open: openSimple(func(s single) (attempt, release) { return s.setForever, s.deleteKey }),
	}
}

func (s single) setForever(ctx context.Context, req impls.Request) (impls.Grant, error) {
	set, err := s.SetNX(ctx, s.Key(req.Key), fixedValue, 0).Result()
	switch {
	case err != nil:
		return impls.Grant{}, fmt.Errorf("setnx: %w", err)
	case !set:
		return impls.Grant{}, impls.ErrBusy
	}
	return impls.Grant{Token: fixedValue, Validity: impls.Unbounded}, nil
}
