package broken

import (
	"context"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// silentWatchdog promises to report the loss of a hold, but its watchdog has stopped: it neither renews nor reports. A lease
// is half of the requested one, so that a hold outlives it by a whole requested lease in the workload long-hold.
func silentWatchdog() impls.Impl {
	lock := of("broken-silent-watchdog", "the watchdog has stopped: a hold is neither renewed nor reported as lost",
		func(lock impls.Lock) impls.Lock { return silent{lock} },
		expect.In("long-hold", expect.Violated("nothing reports that the lease has ended", "loss-notice")))
	lock.Renews, lock.ReportsLoss = true, true
	return lock
}

type silent struct{ impls.Lock }

func (l silent) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	req.TTL /= 2
	hold, err := l.Lock.Acquire(ctx, req)
	hold.Lost = make(chan struct{}) // never closed
	return hold, err
}
