package broken

import (
	"context"
	"errors"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// lateAcquire continues in the background after the timeout of an acquire. When the key is granted, no client knows of it,
// and the key stays locked for ten leases. Whether a short trial shows that as abandoned-acquire depends on when clients ask.
func lateAcquire() impls.Impl {
	return of("broken-late-acquire", "an acquire continues in the background after its timeout",
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

// leases is the number of leases for which an acquire in the background takes the key.
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
