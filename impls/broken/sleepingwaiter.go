package broken

import (
	"context"
	"errors"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// sleepingWaiter is a lock whose waiters miss every notification of a release. A waiter tries again only after a whole
// lease.
func sleepingWaiter() impls.Impl {
	lock := wrapSetPX("broken-sleeping-waiter", "a waiter misses each release and sleeps for a lease",
		func(lock impls.Lock) impls.Lock { return sleeping{lock} },
		expect.Violated("a waiter tries again after a lease", "prompt-hand-off"))
	lock.Notifies = true
	return lock
}

type sleeping struct{ impls.Lock }

func (l sleeping) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	start := time.Now()
	patient, cancel := waiting.Limit(ctx, req.Wait)
	defer cancel()
	for {
		hold, err := try(ctx, l.Lock, req, start)
		if !errors.Is(err, impls.ErrBusy) || req.Wait == 0 || !waiting.Pause(patient, req.TTL) {
			return hold, err
		}
	}
}
