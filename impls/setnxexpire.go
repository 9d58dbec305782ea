package impls

import (
	"context"
	"fmt"
	"time"
)

// setNXExpire is SETNX with a lease that is set by a second command. Its defects: a client that dies between
// the two leaves a key that never expires, and the plain DEL deletes whoever's key is there.
func setNXExpire() Impl {
	return Impl{
		Name: "setnx-expire", Control: true, Store: "redis", Deployment: "single", BackOff: longestPause, TwoSteps: true,
		Doc: "SETNX, then PEXPIRE, then a plain DEL: a crash between the first two locks for ever",
		Expect: together(
			expect(Holds, "SETNX is atomic, and no hold of this workload outlives its lease",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "nobody dies between SETNX and PEXPIRE, and every holder deletes its key", "no-orphan", "progress"),
			under("kill-between", expect(Breaks, "the key is set and has no end, and who was to set it is dead", "recovery", "no-orphan")),
			lateDelete(), plainDelete()),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &setNXExpireLock{s}, err
		},
	}
}

type setNXExpireLock struct{ single }

var (
	_ Lock   = (*setNXExpireLock)(nil)
	_ Prober = (*setNXExpireLock)(nil)
)

func (l *setNXExpireLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		if err := checkTTL(req.TTL); err != nil {
			return Grant{}, err
		}
		// The first step: the key, without an end.
		set, err := l.SetNX(ctx, l.key(req.Key), fixedValue, 0).Result()
		if err != nil {
			return Grant{}, fmt.Errorf("setnx: %w", err)
		}
		if !set {
			return Grant{}, ErrBusy
		}
		// The second step: its end. Whoever dies before it has locked for ever. Whether the key was still
		// there is not looked at.
		if err := l.PExpire(ctx, l.key(req.Key), req.TTL.Truncate(time.Millisecond)).Err(); err != nil {
			return Grant{}, fmt.Errorf("pexpire: %w", err)
		}
		return Grant{Key: req.Key, Owner: req.Owner, Token: fixedValue, Validity: req.TTL}, nil
	})
}

func (l *setNXExpireLock) Release(ctx context.Context, g Grant) error { return l.del(ctx, g.Key) }
