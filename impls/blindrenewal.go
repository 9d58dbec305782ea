package impls

import (
	"context"
	"time"
)

// blindRenewal is an article's renewal in the background: a goroutine per grant sets the key's lease anew
// each third of it, until the release. Its defect: it does not look whose key that is. A holder that lost
// its key unnoticed keeps its successor's alive, also after that one has died.
func blindRenewal() Impl {
	return Impl{
		Name: "blind-renewal", Control: true, Store: "redis", Deployment: "single", Renews: true, BackOff: longestPause,
		Doc: "SET NX PX with a token, and a PEXPIRE each third of the lease that does not look whose key it is",
		Expect: together(
			expect(Holds, "SET NX is atomic, the script deletes nobody else's key, and nobody loses a key that is renewed",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "every holder stops its renewal and deletes its key", "no-orphan", "progress"),
			under("process-pause", expect(Breaks, "the process goes on, and its renewal extends the key of whoever has it by then", "renewal", "mutual-exclusion")),
			under("holder-abandon", expect(Breaks, "the renewal goes on for as long as its process lives", "recovery", "no-orphan")),
			comparedRelease(),
			in("long-hold", expect(Holds, "while its process lives the holder renews in time, and the key is its own",
				"lease-exclusion", "mutual-exclusion", "renewal"))),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &blindRenewalLock{s, newRenewals()}, err
		},
	}
}

type blindRenewalLock struct {
	single
	renewals *renewals // by token
}

var (
	_ Lock   = (*blindRenewalLock)(nil)
	_ Prober = (*blindRenewalLock)(nil)
)

func (l *blindRenewalLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	start := time.Now()
	hold, err := l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		err := l.setNXPX(ctx, req.Key, mine, req.TTL)
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}, err
	})
	if err == nil {
		l.renewals.start(hold.Token, req.TTL/3, func() bool { return l.extend(hold.Grant, start) })
	}
	return hold, err
}

// extend goes on whatever the server says.
func (l *blindRenewalLock) extend(g Grant, start time.Time) bool {
	sent := time.Since(start)
	there, err := l.PExpire(context.Background(), l.key(g.Key), g.Validity.Truncate(time.Millisecond)).Result()
	if err == nil && !there {
		err = ErrNotHeld
	}
	l.env.renewed(g, sent, err)
	return true
}

// Release stops the renewal before the key is let go, so that it does not extend what is another's.
func (l *blindRenewalLock) Release(ctx context.Context, g Grant) error {
	if err := l.renewals.stop(ctx, g.Token); err != nil {
		return err
	}
	return l.deleteIfMine(ctx, g.Key, g.Token)
}

// Close stops the renewals and waits for them; the keys are left to expire.
func (l *blindRenewalLock) Close() error {
	l.renewals.closeAll()
	err := l.UniversalClient.Close() // what is in flight ends with its connection
	if late := l.renewals.wait(); err == nil {
		err = late
	}
	return err
}
