package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// abandonments checks that a cancelled or timed-out acquire does not block its key for longer than a lease.
type abandonments struct {
	timed
	keys      projection.PerKey[abandonment]
	abandoned int
	uncovered int           // number of keys that no client requested for long enough after an abandoned acquire
	longest   time.Duration // longest time for which a key was not granted after an abandoned acquire
}

type abandonment struct {
	key   *projection.Key
	open  outstanding
	since time.Duration // start of the current wait, which may consist of several tries
	idle  time.Duration // time at which the last acquire returned
	free  time.Duration // time until which another hold or a fault explains refusals
	last  *histories.Op // abandoned acquire since the last grant, or nil; the latest with an unknown outcome, or the first if no outcome is unknown
}

func (x *abandonments) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire {
		return
	}
	w := x.keys.Of(k)
	w.key = k
	x.measure(w, ev.Time())
	if !ev.Return {
		if len(w.open) == 0 && op.Call-w.idle > x.Header.BackOff.D()+retryGap {
			w.since = op.Call
		}
		w.open.add(op.Client, op.Hold, op.Call)
		return
	}
	w.open.remove(op.Client)
	if w.idle = op.Return; !x.gaveUp(op) {
		return
	}
	x.abandoned++
	if w.last == nil || op.Outcome == histories.Unknown { // only an acquire with an unknown outcome may hold the key
		called := *op
		w.last = &called
	}
}

// gaveUp reports whether an acquire was cancelled, timed out, or has an unknown outcome.
func (x *abandonments) gaveUp(op *histories.Op) bool {
	return op.Outcome == histories.Unknown || op.Outcome == histories.Refused && (op.Wait > 0 || op.Error == histories.Cancelled)
}

func (x *abandonments) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	w := x.keys.Of(k)
	w.key = k
	switch {
	case c == projection.Began && h.Promised && h.Until <= h.Granted: // the client received the grant after its lease, so it shows nothing
	case c == projection.Began:
		x.measure(w, h.Granted)
		w.free, w.since, w.last = h.Granted, h.Granted, nil
	case c == projection.Closed && h.Release.Kind != 0 && h.Release.Outcome == histories.OK:
		w.free = max(w.free, h.Closed)
	case c == projection.Closed && h.Fault != nil: // the property recovery judges this hold, because the process may still renew the hold
		w.free = histories.Forever
	case c == projection.Closed:
		w.free = max(w.free, x.mayRefuseUntil(h))
	}
}

// mayRefuseUntil returns the time until which a hold without a successful release may explain refusals.
func (x *abandonments) mayRefuseUntil(h *projection.Hold) time.Duration {
	if !h.Promised || x.Header.SilentRenewals {
		return histories.Forever
	}
	return h.Over
}

// Fault handles a fault that ends a client. If the client had an outstanding acquire, this property no longer judges
// the key until the next grant, because the property recovery judges the fault.
func (x *abandonments) Fault(ev histories.Event) {
	for i := range x.keys {
		w := &x.keys[i]
		if _, ok := w.open.remove(ev.Op.Client); ok && !ev.Return {
			w.free = histories.Forever
		}
	}
}

// measure determines how long clients have waited for a key since an acquire was abandoned.
func (x *abandonments) measure(w *abandonment, now time.Duration) {
	if w.last == nil || len(w.open) == 0 || len(w.key.Live)+len(w.key.Releasing) > 1 || x.disturbed(histories.Harness, w.last.Call) {
		return
	}
	from := max(w.last.Return, w.free, w.since)
	for _, h := range append(w.key.Live, w.key.Releasing...) {
		if h.Granted < now {
			from = max(from, x.mayRefuseUntil(h))
		}
	}
	if from = max(from, x.undisturbed(w.open)); now <= from {
		return
	}
	x.longest = max(x.longest, now-from)
	if x.overrun(now - from - x.Bound) {
		x.show(w.key.Name, from, now, []histories.Op{*w.last, w.open[0].op(w.key)},
			"%s requested %s at %s and stopped at %s; other clients requested it without pause from %s to %s and were not granted it; the limit is %s.",
			w.last, w.key.Name, w.last.Call, w.last.Return, from, now, x.Bound)
	}
}

func (x *abandonments) Finding() checker.Finding {
	for i := range x.keys {
		if w := &x.keys[i]; w.key != nil {
			x.measure(w, x.Until)
			if w.last != nil {
				x.uncovered++
			}
		}
	}
	evidence := fmt.Sprintf("%s abandoned, longest time without a grant %s", checker.Count(x.abandoned, "acquire"), checker.Milliseconds(x.longest))
	if x.Header.TTL == 0 && x.Header.Bound == 0 {
		return checker.Finding{Observed: checker.NotApplicable, Evidence: evidence, Why: unstatedBound}
	}
	return x.finding(evidence,
		reason{x.abandoned == 0, checker.NotApplicable, "no acquire was cancelled or timed out"},
		reason{x.uncovered > 0, checker.Undecided, fmt.Sprintf("after an acquire was abandoned, no client kept requesting the key (%d keys)", x.uncovered)})
}
