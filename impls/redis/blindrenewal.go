package redis

import (
	"context"
	"slices"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// BlindRenewal is a lock with background renewal, published in an article. Its defect: a renewal does not compare the
// token. A holder that lost its key without noticing extends the next holder's key. This continues even after the next
// holder has died.
func BlindRenewal() impls.Impl {
	return impls.Impl{
		Name: "blind-renewal", Control: true, Store: "redis", Deployment: "single", Renews: true, BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a token, and a PEXPIRE each third of the lease, without comparing the token",
		Expect: slices.Concat(
			expect.Excludes("SET NX is atomic, the script deletes only the owner's key, and a renewed key does not expire"),
			expect.Holds("every holder stops its renewal and deletes its key", "no-orphan", "progress"),
			expect.Under("process-pause", expect.Violated("after the pause the renewal extends the next holder's key", "renewal", "mutual-exclusion")),
			expect.Under("holder-abandon", expect.Violated("the renewal continues as long as its process lives", "recovery", "no-orphan")),
			expect.ComparedRelease(),
			expect.In("long-hold", expect.Holds("while its process lives the holder renews in time, and the key is its own",
				"lease-exclusion", "mutual-exclusion", "renewal"))),
		Open: func(env impls.Env) (impls.Lock, error) {
			s, err := openSingle(env)
			return &blindRenewalLock{s, newRenewals(env, true)}, err
		},
	}
}

type blindRenewalLock struct {
	single
	renewals *renewals // running renewals, by token of the hold
}

func (l *blindRenewalLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	start := time.Now()
	hold, err := l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) { return l.setToken(ctx, req) })
	if err == nil {
		l.renewals.start(hold.Token, hold.Grant, start, func(ctx context.Context) error {
			there, err := l.pexpire(ctx, hold.Key, hold.Validity)
			if err == nil && !there {
				err = impls.ErrNotHeld
			}
			return err
		})
	}
	return hold, err
}

// Release stops the renewal before it deletes the key. Otherwise the renewal might extend the next holder's key.
func (l *blindRenewalLock) Release(ctx context.Context, g impls.Grant) error {
	if err := l.renewals.stop(ctx, g.Token); err != nil {
		return err
	}
	return l.compareAndDelete(ctx, g)
}

// Close stops the renewals and waits for them. The holds then expire.
func (l *blindRenewalLock) Close() error { return l.renewals.close(l.UniversalClient) }
