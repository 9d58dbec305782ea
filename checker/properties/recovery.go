package properties

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// maxRecoveries is the maximum number of recovery times stored. Further recoveries are still checked.
const maxRecoveries = 1 << 16

// recoveries checks that a key is granted in time after its holder or a waiting client was killed or went away.
type recoveries struct {
	monitor
	keys      projection.PerKey[bereft]
	passed    int // number of keys granted in time after a fault ended a waiting client
	uncovered int // number of faults without a verdict, because no other client waited long enough to show a violation
}

type bereft struct {
	key    *projection.Key
	open   []asked       // outstanding acquires, without those of clients that were killed or went away
	idle   time.Duration // time when the last outstanding acquire ended
	victim *victim       // nil if no client was killed or went away since the last grant
}

// victim is a client that was killed or went away while it held a key or waited for the key.
type victim struct {
	fault   histories.Op
	acquire histories.Op
	held    bool          // whether the client held the key; if false, it waited for the key
	behind  bool          // another client still holds the key
	waited  bool          // another client held the key at the fault and has since released the key
	since   time.Duration // start of the recovery time: the fault or, if later, the time from which no other client holds the key
	asked   time.Duration // time at which other clients started to wait
}

func (x *recoveries) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire {
		return
	}
	b := x.keys.Of(k)
	b.key = k
	if !ev.Return {
		b.rest(x, op.Call)
		b.open = append(b.open, asked{op.Client, op.Hold, op.Call})
		return
	}
	n := len(b.open)
	b.open = slices.DeleteFunc(b.open, func(a asked) bool { return a.client == op.Client })
	if len(b.open) == n {
		return // the acquire is not in b.open, because its client was killed or went away
	}
	b.idle = op.Return
	x.settle(b, op.Return, nil)
	// After an acquire with an unknown outcome, the client may have held the key until the acquire returned. The recovery
	// time then starts at that return. Acquires called after the maximum recovery time are ignored.
	if v := b.victim; v != nil && op.Outcome == histories.Unknown && op.Call <= v.since+x.Bound {
		v.moveTo(op.Return)
	}
}

// moveTo moves the start of the recovery time to t, unless the start is already later.
func (v *victim) moveTo(t time.Duration) {
	v.since = max(v.since, t)
	v.asked = max(v.asked, v.since)
}

// rest handles the call of an acquire at the given time. The lock is judged by how long clients waited for the key
// after the fault. If no client waited shortly before the call, the recorded wait starts again at the call. However, a
// wait that already exceeded the maximum recovery time is kept.
func (b *bereft) rest(x *recoveries, now time.Duration) {
	v := b.victim
	if v == nil || v.behind || len(b.open) > 0 {
		return
	}
	from := max(b.idle, v.since)
	if now-from > x.Header.BackOff.D()+retryGap && from-v.asked <= x.Bound {
		v.asked = now
	}
}

// Fault handles the call and the return of a fault that ends a client. At the call, the projection still lists the
// holds of the client as current. The return states whether the fault was verified.
func (x *recoveries) Fault(ev histories.Event) {
	for i := range x.keys {
		b := &x.keys[i]
		switch v := b.victim; {
		case b.key == nil:
		case !ev.Return:
			x.gone(b, ev.Op)
		case v != nil && v.fault.Client == ev.Op.Client && v.fault.Call == ev.Op.Call && ev.Op.Outcome != histories.OK:
			b.victim = nil // the fault was not verified, so no recovery is expected
		}
	}
}

func (x *recoveries) gone(b *bereft, fault *histories.Op) {
	v := &victim{fault: *fault, since: fault.Call, asked: fault.Call}
	i := slices.IndexFunc(b.open, func(a asked) bool { return a.client == fault.Client })
	if i >= 0 {
		v.acquire = b.open[i].op(b.key)
		b.open = slices.Delete(b.open, i, i+1)
		b.idle = max(b.idle, fault.Call)
	}
	for _, h := range slices.Concat(b.key.Live, b.key.Releasing) {
		if h.Acquire.Client == fault.Client {
			v.held, v.acquire = true, h.Acquire
		} else {
			v.behind = true
		}
	}
	v.behind = v.behind && !v.held
	switch old := b.victim; {
	case !v.held && i < 0:
	case old != nil && !v.held: // this client may have acquired the key after the earlier fault, so the recovery time starts at the new fault
		old.moveTo(fault.Call)
	default:
		b.victim = v
	}
}

func (x *recoveries) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	b := x.keys.Of(k)
	v := b.victim
	switch {
	case v == nil:
	case c == projection.Began && h.Fault == nil:
		x.granted(b, h)
		b.victim = nil
	case c == projection.Closed && v.behind && len(k.Live)+len(k.Releasing) == 0:
		v.behind, v.waited = false, true
		if v.moveTo(h.Closed); h.Release.Outcome != histories.OK {
			b.victim = nil // the key may still be held, because the release did not succeed
		}
	}
}

// settle ends the wait behind another hold if that hold can no longer explain the wait. This is so if the hold has an
// unanswered release and its lease has expired.
func (x *recoveries) settle(b *bereft, now time.Duration, granted *projection.Hold) {
	v := b.victim
	if v == nil || !v.behind {
		return
	}
	var until time.Duration
	for _, h := range b.key.Live {
		if h != granted {
			return
		}
	}
	for _, h := range b.key.Releasing {
		until = max(until, x.unanswered(h))
	}
	if until > 0 && until < now {
		v.behind, v.waited = false, true
		v.moveTo(until)
	}
}

func (x *recoveries) granted(b *bereft, h *projection.Hold) {
	x.settle(b, h.Granted, h)
	v := b.victim
	took := h.Granted - v.fault.Call
	if v.waited || took > x.Bound {
		took = h.Granted - v.since
	}
	switch {
	case v.behind || v.waited && took <= x.Bound:
		x.passed++
	case took <= x.Bound:
		if len(x.Recovered) < maxRecoveries {
			x.Recovered = append(x.Recovered, took)
		}
	case h.Granted-v.asked <= x.Bound:
		x.uncovered++
	default:
		x.violation(b, h.Granted, &h.Acquire)
	}
}

func (x *recoveries) never(b *bereft) {
	x.settle(b, x.Until, nil)
	v := b.victim
	asking := x.Until
	if len(b.open) == 0 {
		asking = b.idle
	}
	switch {
	case v == nil || v.behind:
	case asking-v.asked <= x.Bound:
		x.uncovered++
	default:
		x.violation(b, x.Until, nil)
	}
}

func (x *recoveries) violation(b *bereft, now time.Duration, next *histories.Op) {
	if !x.countViolation() {
		return
	}
	v := b.victim
	ops, what, end := []histories.Op{v.acquire, v.fault}, "was waiting for", "it was not granted until the end"
	if v.held {
		what = "held"
	}
	if next != nil {
		ops, end = append(ops, *next), x.tell("the next grant was %s's, at %s", next, now)
	}
	x.show(b.key.Name, v.fault.Call, now, ops,
		"%s was gone from %s on (%s) while it %s %s; other clients kept waiting for it, and %s, %s later; the bound is %s.",
		&v.fault, v.fault.Call, v.fault.Fault, what, b.key.Name, end, now-v.since, x.Bound)
}

func (x *recoveries) Finding() checker.Finding {
	for i := range x.keys {
		x.never(&x.keys[i])
	}
	if x.Header.TTL == 0 && x.Header.Bound == 0 {
		return checker.Finding{Observed: checker.NotApplicable, Why: unstatedBound}
	}
	evidence, took := "no recovery", slices.Sorted(slices.Values(x.Recovered))
	if n := len(took); n > 0 {
		noun := "recoveries"
		if n == 1 {
			noun = "recovery"
		}
		evidence = fmt.Sprintf("%d %s, median %s, longest %s", n, noun, x.leases(took[(n-1)/2]), x.leases(took[n-1]))
	}
	if x.passed > 0 {
		evidence += fmt.Sprintf("; %d times a waiter was gone and the key was granted to another", x.passed)
	}
	return x.finding(evidence,
		reason{x.uncovered > 0, checker.Undecided, fmt.Sprintf("no client waited for %s after a client was gone that may have held the key (%d times)", checker.Milliseconds(x.Bound), x.uncovered)},
		reason{len(x.Recovered)+x.passed == 0, checker.NotApplicable, "no client that held or waited for a key was gone"})
}

func (x *recoveries) leases(d time.Duration) string {
	if x.Header.TTL == 0 {
		return checker.Milliseconds(d)
	}
	return fmt.Sprintf("%.2f x TTL", float64(d)/float64(x.Header.TTL))
}
