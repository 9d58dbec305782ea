package broken

import (
	"context"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// silentWatchdog is a lock whose watchdog has stopped. The lock promises to renew holds and to report their loss, but
// does neither. It sets only half of the requested lease. In the workload long-hold, a hold therefore outlives its
// lease by a whole requested lease.
func silentWatchdog() impls.Impl {
	lock := wrapSetPX("broken-silent-watchdog", "the watchdog has stopped: a hold is neither renewed nor reported as lost",
		func(lock impls.Lock) impls.Lock { return silent{lock} },
		expect.In("long-hold", expect.Violated("nothing reports that the lease has ended", "loss-notice")))
	lock.Renews, lock.ReportsLoss = true, true
	return lock
}

type silent struct{ impls.Lock }

func (l silent) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	req.TTL /= 2
	hold, err := l.Lock.Acquire(ctx, req)
	hold.Lost = make(chan struct{}) // never closed, so a loss is never reported
	return hold, err
}
