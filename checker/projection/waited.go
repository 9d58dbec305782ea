package projection

import (
	"time"

	"lockbench/histories"
)

// waited is an outstanding acquire of a lock that waits inside, so that the sending of the granted request is unknown.
type waited struct {
	client int32
	since  time.Duration // call of the last release of a valid hold since the call, or the call
	gap    time.Duration // longest time since the call for which no valid hold is known
}

// PromiseFromReleases makes the Projection count the lease of a lock that waits inside from the last release before the
// grant, instead of from the call of the acquire. A hold that was released ok before the end of its lease lasted in the
// store until that release, so the store cannot have granted the acquire during it. It cannot have granted the acquire
// before it either, unless there was a gap as long as the lease.
func (p *Projection) PromiseFromReleases() { p.waits = true }

// asked handles an event of an acquire. It returns the earliest time at which the store can have granted the acquire that
// returns.
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

// releasedValid handles the return of a release that ended a hold.
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
