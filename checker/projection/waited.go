package projection

import (
	"time"

	"lockbench/histories"
)

// waited is an outstanding acquire of a lock whose library waits by itself. It is unknown when such a library sent the
// granted request.
type waited struct {
	client int32
	since  time.Duration // call of the last release of a valid hold since the acquire was called; without such a release, the call of the acquire
	gap    time.Duration // longest period since the call of the acquire in which no valid hold is known
}

// PromiseFromReleases changes the start of leases for a lock whose library waits by itself. A lease then counts from
// the last release before the grant, instead of from the call of the acquire. The reason is that a valid hold stays in
// the store until its release, so the store cannot have granted the acquire during that hold. The lease still counts
// from the call if no valid hold is known for a period as long as the lease. The store may have granted the acquire in
// that period.
func (p *Projection) PromiseFromReleases() { p.waits = true }

// asked handles the call or the return of an acquire. At the return, it returns the earliest time at which the store
// can have granted the acquire.
func (p *Projection) asked(k *Key, ev histories.Event) time.Duration {
	op := ev.Op
	if !ev.Return {
		k.asking = append(k.asking, waited{client: op.Client, since: op.Call})
		return op.Call
	}
	for i, w := range k.asking {
		if w.client != op.Client {
			continue
		}
		k.asking = append(k.asking[:i], k.asking[i+1:]...)
		if w.gap+p.slack < op.Validity {
			return w.since
		}
	}
	return op.Call
}

// releasedValid handles the return of a release that ended a hold. If the lease had not expired by then, the store
// cannot have granted any outstanding acquire during the hold.
func (k *Key) releasedValid(h *Hold) {
	if h.Release.Outcome != histories.OK || !h.Promised || h.Closed >= h.Until {
		return
	}
	for i := range k.asking {
		w := &k.asking[i]
		if h.End > w.since {
			w.gap, w.since = max(w.gap, h.Granted-w.since), h.End
		}
	}
}
