package redis

import (
	"context"
	"fmt"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetNX acquires by SETNX and releases by DEL, like the first example in most articles. Its defect is that nothing
// deletes the key if the holder dies.
func SetNX() impls.Impl {
	return impls.Impl{
		Name: "setnx", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "SETNX and DEL: excludes, and stays locked forever if its holder dies",
		Expect: slices.Concat(
			expect.Excludes("SETNX is atomic and the key never expires: one holder until its DEL"),
			expect.Holds("without a crash every holder deletes its key", "no-orphan", "progress"),
			expect.Under("holder-stall process-pause clock-forward", expect.Excludes("the key has no lease that could expire")),
			expect.Under("holder-kill", expect.Violated("nothing deletes the key of a dead holder, and it never expires", "recovery", "no-orphan")),
			expect.Under("lost-reply cancelled-acquire", expect.Violated("the key was set without the client's knowledge, and it never expires", "no-orphan")),
			expect.Under("failover", expect.Violated("the promoted replica does not have the key", "lease-exclusion", "mutual-exclusion")),
			expect.In("misuse", expect.Violated("DEL does not check the owner", "owner-release")),
			expect.In("long-hold", expect.Holds("the key has no lease that could expire", "lease-exclusion", "mutual-exclusion"))),
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
