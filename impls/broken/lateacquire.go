package broken

import (
	"context"
	"errors"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// lateAcquire is a lock whose acquires continue in the background after their timeout. If such an acquire is granted,
// no client knows of the hold, and the key stays locked for ten leases. In a short trial, the property
// abandoned-acquire is violated only if other clients request the key at the right time.
func lateAcquire() impls.Impl {
	return wrapSetPX("broken-late-acquire", "an acquire continues in the background after its timeout",
		func(lock impls.Lock) impls.Lock {
			l := &continuing{Lock: lock}
			l.life, l.end = context.WithCancel(context.Background())
			return l
		},
		expect.In("long-hold", expect.Violated("a timed-out acquire takes the key", "no-orphan")))
}

type continuing struct {
	impls.Lock
	life    context.Context
	end     context.CancelFunc
	running waiting.Group
}

// leases is the lease of an acquire in the background, as a multiple of the requested lease.
const leases = 10

func (l *continuing) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	hold, err := l.Lock.Acquire(ctx, req)
	if errors.Is(err, impls.ErrBusy) && req.Wait > 0 {
		late := req
		late.Wait, late.TTL = -1, leases*req.TTL
		l.running.Go(func() { _, _ = l.Lock.Acquire(l.life, late) })
	}
	return hold, err
}

// Close ends the acquires in the background.
func (l *continuing) Close() error {
	l.end()
	l.running.Close()
	return l.Lock.Close()
}
