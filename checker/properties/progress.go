package properties

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// unstatedBound is why neither progress nor recovery applies.
const unstatedBound = "the history states neither a lease nor a bound"

// retryGap is the longest time between two tries of a waiting client, beyond the lock's own back-off.
const retryGap = 100 * time.Millisecond

// waiting judges bounded liveness: a key that is asked for, and that no hold or unknown acquire explains to be taken, is
// granted within the bound.
type waiting struct {
	monitor
	keys      projection.PerKey[awaited]
	asked     int
	longest   time.Duration // unexplained
	unbounded bool          // the lock's grants do not end by themselves
}

type awaited struct {
	key   *projection.Key
	open  []asked       // acquires that have not returned
	since time.Duration // since when somebody asks, but for retry gaps
	idle  time.Duration // when the last one stopped
	free  time.Duration // since when no past hold or unknown acquire explains a refusal
	told  bool          // this wait was counted as a violation
	last  histories.Op  // the last release
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

// unknownUntil is Facts.unknownUntil, unless the lock's grants never end: then an unknown acquire explains every refusal.
func (x *waiting) unknownUntil(from time.Duration) time.Duration {
	if x.unbounded {
		return histories.Forever
	}
	return x.Facts.unknownUntil(from)
}

func (x *waiting) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	w := x.keys.Of(k)
	switch {
	case c == projection.Began:
		w.key = k
		x.measure(w, h.Granted, h)
		w.free, w.since, w.told = h.Granted, h.Granted, false
		x.unbounded = x.unbounded || h.Until == histories.Forever
	case c == projection.Closed && h.Fault != nil: // it stays in the store until its promise ends; recovery judges that
		w.free = max(w.free, x.explains(h))
	case c == projection.Closed && h.Closed == histories.Forever:
	case c == projection.Closed && h.Release.Outcome == histories.Unknown && h.Release.Kind != 0:
		w.free = max(w.free, x.explains(h)) // it may still be in the store
	case c == projection.Closed:
		w.free = max(w.free, min(h.Closed, x.explains(h)))
	}
}

// Fault stops the wait of a client that is gone. What it asked for may yet be granted.
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

// explains returns until when a hold explains that others are refused.
func (x *waiting) explains(h *projection.Hold) time.Duration {
	if !h.Promised || h.Until == histories.Forever {
		return histories.Forever
	}
	return h.Until + 2*x.Slack
}

// measure checks how long the key has been asked for without a grant until now; granted is the hold that ends the wait, if
// any.
func (x *waiting) measure(w *awaited, now time.Duration, granted *projection.Hold) {
	if len(w.open) == 0 {
		return
	}
	from := max(w.free, w.since)
	for _, h := range w.key.Live {
		if h != granted {
			from = max(from, x.explains(h))
		}
	}
	for _, h := range w.key.Releasing {
		from = max(from, x.explains(h))
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

func (x *waiting) violation(w *awaited, from, now time.Duration) {
	if !x.first() {
		return
	}
	var ops []histories.Op
	if w.last.Kind != 0 {
		ops = append(ops, w.last)
	}
	x.show(w.key.Name, from, now, append(ops, w.open[0].op(w.key)),
		"%s was asked for without pause from %s to %s and not granted, though nothing held it from %s on; the bound is %s.",
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
	return x.finding(evidence, reason{x.asked == 0, checker.NotApplicable, "nobody asked"})
}
