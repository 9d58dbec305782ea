package properties

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// handOffs checks that a free key is soon granted to a waiting client. A key is free after its release, and before its
// first grant.
//
// Some faults can lose a message or data. After such a fault, or an unknown outcome, the store may still have the hold
// or the request of a client that no longer exists. The key is then judged again after a grant to one client while no
// other client requested it. After an unknown outcome it is also judged for as long as the store was seen to be free since a
// release, if the lock is notified.
//
// A process that was killed loses nothing of other clients. Its hold, its place in a queue and its requests are over after the
// bound of the lock. If the lock skips dead waiters, they are over at the next release that is called later than answerTime.
//
// A pause or a delay loses nothing, and the reset of idle connections at most a notification,
// so a waiter must try again once it has reconnected. The wait then counts from the end of the fault, because the store may
// have granted the key to the paused client.
type handOffs struct {
	timed
	keys    projection.PerKey[handOff]
	judged  int
	longest time.Duration
	seen    []seenWait
}

// seenWait is a wait that was too long if the observed entries of the store, of which none is one of a hold, show that the key was free.
type seenWait struct {
	wait
	key  *handOff
	left entrySet
}

// wait is the time for which a client waited for a free key.
type wait struct {
	waiter, release histories.Op // release: the last one of the key; Kind 0: none
	from, to        time.Duration
}

type handOff struct {
	key   *projection.Key
	used  bool
	known bool          // whether the key is known to be free since the time free
	free  time.Duration // time at which the last release returned; 0 before the first grant
	last  histories.Op  // last release of the key
	open  outstanding   // outstanding acquires that wait; tries are not included
	lost  time.Duration // grant of the latest hold that ended without a known release; its entry may block the key until its lease expires
	clean int           // value of Facts.losses at the last undisturbed grant; waits are judged only if no loss has happened since
	blank int           // value of Facts.blanks at the last undisturbed grant
	empty seenFree
}

func (x *handOffs) of(k *projection.Key) *handOff {
	w := x.keys.Of(k)
	if !w.used {
		w.used, w.known, w.key = true, true, k
	}
	return w
}

func (x *handOffs) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind == histories.Seen:
		w := x.of(k)
		if o, complete := w.empty.add(op); complete {
			w.empty.observed(&o, slices.ContainsFunc(k.Live, o.insideHold))
		}
	case op.Kind != histories.Acquire:
	case ev.Return:
		w := x.of(k)
		x.measure(w, op.Return)
		w.open.remove(op.Client)
	case op.Wait == histories.Unlimited || op.Wait > 0:
		x.of(k).open.add(op.Client, op.Hold, op.Call)
	}
}

// Fault handles a fault that ends a client. The client no longer waits, but its requests may still be granted.
func (x *handOffs) Fault(ev histories.Event) {
	if ev.Return {
		return
	}
	for i := range x.keys {
		if w := &x.keys[i]; w.key != nil {
			x.measure(w, ev.Op.Call)
			w.open.remove(ev.Op.Client)
			w.known = false
		}
	}
}

func (x *handOffs) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	w := x.of(k)
	switch c {
	case projection.Began:
		x.measure(w, h.Granted)
		w.known = false
		if alone := len(w.open) <= 1 && len(k.Live)+len(k.Releasing) == 1; alone && x.quiet() {
			w.clean, w.blank = x.losses, x.blanks
		}
	case projection.Closed:
		clean := h.Fault == nil && h.Release.Kind != 0 && h.Release.Outcome == histories.OK && h.Promised && h.Closed < h.Until
		if !clean {
			w.lost = max(w.lost, h.Granted)
		}
		// A release that returns late may have freed the key long before, for a later hold that has been lost since.
		w.known = clean && len(k.Live)+len(k.Releasing) == 0 && w.lost < h.Release.Call && x.outlived(h.Release.Call)
		w.free, w.last = h.Closed, h.Release
		w.empty.released(h.Closed)
	}
}

// outlived reports whether a release was called so late that no request of a killed process can be granted after it.
func (x *handOffs) outlived(release time.Duration) bool {
	return x.ended < 0 || release >= max(x.ended, x.healed)+answerTime
}

// notified reports whether the store notifies waiters, so that one that waits does not request the key at an interval.
func (x *handOffs) notified() bool { return x.Header.Notifies }

// limit returns the longest time for which a key may stay free while a client waits for it.
func (x *handOffs) limit() time.Duration {
	if x.notified() {
		return answerTime
	}
	return x.Header.BackOff.D() + answerTime
}

// measure determines how long a client has waited for a free key.
func (x *handOffs) measure(w *handOff, now time.Duration) {
	if len(w.open) == 0 || !w.known || w.clean != x.losses || !x.quiet() {
		return
	}
	from := max(w.free, w.open[0].call, x.healed)
	if x.ended >= 0 && !x.Header.SkipsDead {
		from = max(from, x.deadUntil())
	}
	blank := w.blank != x.blanks
	if blank {
		from, now = max(from, x.blank), min(now, w.empty.until)
	}
	if now <= from {
		return
	}
	t := wait{w.open[0].op(w.key), w.last, from, now}
	if !blank {
		x.judge(w, t)
	} else if x.notified() && now-from > x.limit() {
		x.seen = append(x.seen, seenWait{t, w, w.empty.left})
	}
}

// deadUntil returns the time until which a killed process may delay other clients.
func (x *handOffs) deadUntil() time.Duration {
	until := x.unknownHold(x.ended)
	if until == histories.Forever {
		return until
	}
	return until + max(0, x.Header.Bound.D()-x.Header.TTL.D())
}

// judge counts the wait as a hand-off, and records an overrun if it was too long.
func (x *handOffs) judge(w *handOff, t wait) {
	x.judged++
	x.longest = max(x.longest, t.to-t.from)
	if !x.overrun(t.to - t.from - x.limit()) {
		return
	}
	ops, since := []histories.Op{t.waiter}, "no client held it"
	if t.release.Kind != 0 {
		ops, since = append(ops, t.release), x.tell("%s had released it at %s", &t.release, t.release.Return)
	}
	x.show(w.key.Name, t.from, t.to, ops, "%s waited for %s from %s to %s, though %s; the limit is %s.",
		&t.waiter, w.key.Name, t.from, t.to, since, x.limit())
}

func (x *handOffs) Finding() checker.Finding {
	for i := range x.keys {
		if w := &x.keys[i]; w.key != nil {
			x.measure(w, x.Until)
		}
	}
	for _, s := range x.seen {
		if lock := s.key.empty.entries.lock(); lock != 0 && s.left&lock == 0 {
			x.judge(s.key, s.wait)
		}
	}
	evidence := fmt.Sprintf("%s, longest %s", checker.Count(x.judged, "hand-off"), checker.Milliseconds(x.longest))
	return x.finding(evidence, reason{x.judged == 0, checker.NotApplicable, "no client is known to have waited for a free key"})
}
