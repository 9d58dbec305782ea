package impls

import (
	"context"
	"fmt"
)

// setNX is the first lock of every article: SETNX to take it, DEL to give it back. It excludes; its defect
// is that nothing frees the key of a holder that died.
func setNX() Impl {
	return Impl{
		Name: "setnx", Control: true, Store: "redis", Deployment: "single", BackOff: longestPause,
		Doc: "SETNX and DEL: excludes, and stays locked for ever when its holder dies",
		Expect: together(
			expect(Holds, "SETNX is atomic and the key never expires: one holder until its DEL",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "without a crash every holder deletes its key", "no-orphan", "progress"),
			under("holder-stall process-pause clock-forward", threeViews(Holds, "the key has no lease that could run out")),
			under("holder-kill", expect(Breaks, "nobody deletes the key of a holder that died, and it never expires", "recovery", "no-orphan")),
			under("lost-reply cancelled-acquire", expect(Breaks, "the key was set, who asked does not know it, and it never expires", "no-orphan")),
			under("failover", expect(Breaks, "the replica that takes over has never heard of the key", "lease-exclusion", "mutual-exclusion")),
			in("misuse", expect(Breaks, "DEL asks nobody whose key it is", "owner-release")),
			in("long-hold", expect(Holds, "the key has no lease that could run out", "lease-exclusion", "mutual-exclusion"))),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &setNXLock{s}, err
		},
	}
}

type setNXLock struct{ single }

var (
	_ Lock   = (*setNXLock)(nil)
	_ Prober = (*setNXLock)(nil)
)

func (l *setNXLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		set, err := l.SetNX(ctx, l.key(req.Key), fixedValue, 0).Result()
		if err != nil {
			return Grant{}, fmt.Errorf("setnx: %w", err)
		}
		if !set {
			return Grant{}, ErrBusy
		}
		return Grant{Key: req.Key, Owner: req.Owner, Token: fixedValue, Validity: Unbounded}, nil
	})
}

func (l *setNXLock) Release(ctx context.Context, g Grant) error { return l.del(ctx, g.Key) }

// fixedValue is what locks without a token write: the same for every owner.
const fixedValue = "locked"
