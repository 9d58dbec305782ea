package properties

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// unstatedBound is the reason why the properties progress and recovery are not applicable.
const unstatedBound = "the history states neither a lease nor a bound"

// retryGap is added to the lock's back-off to get the maximum pause between two tries of a waiting client. After a
// longer pause, the client no longer counts as waiting.
const retryGap = 100 * time.Millisecond

// waiting checks bounded liveness: a free key is granted to a waiting client within the bound in the header.
type waiting struct {
	monitor
	keys    projection.PerKey[awaited]
	asked   int
	longest time.Duration // longest time that a client waited for a free key
}

type awaited struct {
	key   *projection.Key
	open  []asked       // outstanding acquires
	since time.Duration // start of the current wait, which may consist of several tries
	idle  time.Duration // return time of the last acquire
	free  time.Duration // time from which the key counts as free
	told  bool          // the current wait has been counted as a violation
	last  histories.Op  // last release of the key
}

type asked struct {
	client int32
	hold   int64
	call   time.Duration
}

func (a asked) op(k *projection.Key) histories.Op {
	return histories.Op{Client: a.client, Hold: a.hold, Kind: histories.Acquire, Key: k.Name, Due: a.call, Call: a.call, Return: histories.StillOpen}
}

func (x *waiting) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire && op.Kind != histories.Release {
		return
	}
	w := x.keys.Of(k)
	w.key = k
	x.measure(w, ev.Time(), nil)
	switch {
	case op.Kind == histories.Acquire && !ev.Return:
		x.asked++
		if len(w.open) == 0 && (w.since == 0 || op.Call-w.idle > x.Header.BackOff.D()+retryGap) {
			w.since, w.told = op.Call, false
		}
		w.open = append(w.open, asked{op.Client, op.Hold, op.Call})
	case op.Kind == histories.Acquire:
		w.open = slices.DeleteFunc(w.open, func(a asked) bool { return a.client == op.Client })
		w.idle = op.Return
		if op.Outcome == histories.Unknown {
			w.free = max(w.free, x.unknownUntil(op.Return))
		}
	case ev.Return:
		w.last = *op
	}
}

func (x *waiting) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	w := x.keys.Of(k)
	switch {
	case c == projection.Began:
		w.key = k
		x.measure(w, h.Granted, h)
		w.free, w.since, w.told = h.Granted, h.Granted, false
	case c == projection.Closed && h.Fault != nil: // the holder was killed or went away, so the key may stay locked until the lease expires; the property recovery checks this delay
		w.free = max(w.free, x.mayRefuseUntil(h))
	case c == projection.Closed && h.Closed == histories.Forever:
	case c == projection.Closed && h.Release.Outcome == histories.Unknown && h.Release.Kind != 0:
		w.free = max(w.free, x.unanswered(h)) // the store may still have the hold
	case c == projection.Closed:
		w.free = max(w.free, min(h.Closed, x.mayRefuseUntil(h)))
	}
}

// Fault handles a fault that ends a client. The client no longer waits, but its outstanding acquire may still be granted.
func (x *waiting) Fault(ev histories.Event) {
	if ev.Return {
		return
	}
	for i := range x.keys {
		w := &x.keys[i]
		at := slices.IndexFunc(w.open, func(a asked) bool { return a.client == ev.Op.Client })
		if at < 0 {
			continue
		}
		x.measure(w, ev.Op.Call, nil)
		w.open = slices.Delete(w.open, at, at+1)
		w.free, w.idle = max(w.free, x.unknownUntil(ev.Op.Call)), ev.Op.Call
	}
}

// mayRefuseUntil returns the time until which the lock may refuse other clients because of the hold h: the end
// of its lease, or the time at which the store was seen without it.
func (x *Facts) mayRefuseUntil(h *projection.Hold) time.Duration {
	if h.Vanished > 0 && !x.Shaken {
		return h.Vanished + 2*x.Slack
	}
	if !h.Promised || h.Until == histories.Forever || x.Header.SilentRenewals {
		return histories.Forever
	}
	return h.Until + 2*x.Slack
}

// unanswered is like mayRefuseUntil, but for a hold whose release was not answered. If the lock has leases, such a hold
// explains refusals for at most one lease after the call of the release, unless a fault affected the client.
func (x *Facts) unanswered(h *projection.Hold) time.Duration {
	until := x.mayRefuseUntil(h)
	if until < histories.Forever || h.Until == histories.Forever || x.disturbed(h.Acquire.Client, h.Release.Call) {
		return until
	}
	return x.unknownUntil(h.Release.Call)
}

// measure determines how long clients have waited for a key since it became free. It counts a violation if they waited
// for longer than the maximum recovery time. The parameter granted is the hold whose grant ends the wait, or nil if the
// wait continues.
func (x *waiting) measure(w *awaited, now time.Duration, granted *projection.Hold) {
	if len(w.open) == 0 {
		return
	}
	from := max(w.free, w.since, x.undisturbed(w.open))
	for _, h := range w.key.Live {
		if h != granted {
			from = max(from, x.mayRefuseUntil(h))
		}
	}
	for _, h := range w.key.Releasing {
		from = max(from, x.unanswered(h))
	}
	if now <= from {
		return
	}
	x.longest = max(x.longest, now-from)
	if now-from > x.Bound && !w.told {
		w.told = true
		x.violation(w, from, now)
	}
}

// undisturbed returns the earliest call time of the outstanding acquires that no fault affected. After a fault, a
// client library may wait for a lost reply until its own timeout. Such a wait is not a defect of the lock. The result
// is 0 if faults affected none of the acquires, and histories.Forever if they affected all acquires.
func (f *Facts) undisturbed(open []asked) time.Duration {
	first, disturbed := histories.Forever, false
	for _, a := range open {
		if f.disturbed(a.client, a.call) {
			disturbed = true
		} else {
			first = min(first, a.call)
		}
	}
	if !disturbed {
		return 0
	}
	return first
}

func (x *waiting) violation(w *awaited, from, now time.Duration) {
	if !x.countViolation() {
		return
	}
	var ops []histories.Op
	if w.last.Kind != 0 {
		ops = append(ops, w.last)
	}
	x.show(w.key.Name, from, now, append(ops, w.open[0].op(w.key)),
		"%s was requested without pause from %s to %s and not granted, though no client held it from %s on; the bound is %s.",
		w.key.Name, w.since, now, from, x.Bound)
}

func (x *waiting) Finding() checker.Finding {
	for i := range x.keys {
		x.measure(&x.keys[i], x.Until, nil)
	}
	evidence := fmt.Sprintf("%s, longest unexplained wait %s", checker.Count(x.asked, "acquire"), checker.Milliseconds(x.longest))
	if x.Header.TTL == 0 && x.Header.Bound == 0 {
		return checker.Finding{Observed: checker.NotApplicable, Evidence: evidence, Why: unstatedBound}
	}
	return x.finding(evidence, reason{x.asked == 0, checker.NotApplicable, "no client requested a lock"})
}
