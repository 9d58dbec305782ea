package properties

import (
	"fmt"
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
// other client requested it. A pause or a delay loses nothing, and the reset of idle connections at most a notification,
// so a waiter must try again once it has reconnected. The wait then counts from the end of the fault, because the store may
// have granted the key to the paused client.
type handOffs struct {
	timed
	keys    projection.PerKey[handOff]
	judged  int
	longest time.Duration
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
	if op.Kind != histories.Acquire {
		return
	}
	w := x.of(k)
	if ev.Return {
		x.measure(w, op.Return)
		w.open.remove(op.Client)
	} else if op.Wait == histories.Unlimited || op.Wait > 0 {
		w.open.add(op.Client, op.Hold, op.Call)
	}
}

func (x *handOffs) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	w := x.of(k)
	switch c {
	case projection.Began:
		x.measure(w, h.Granted)
		w.known = false
		if alone := len(w.open) <= 1 && len(k.Live)+len(k.Releasing) == 1; alone && x.calm() {
			w.clean = x.losses
		}
	case projection.Closed:
		clean := h.Fault == nil && h.Release.Kind != 0 && h.Release.Outcome == histories.OK && h.Promised && h.Closed < h.Until
		if !clean {
			w.lost = max(w.lost, h.Granted)
		}
		// A release that returns late may have freed the key long before, for a later hold that has been lost since.
		w.known = clean && len(k.Live)+len(k.Releasing) == 0 && w.lost < h.Release.Call
		w.free, w.last = h.Closed, h.Release
	}
}

// limit returns the longest time for which a key may stay free while a client waits for it.
func (x *handOffs) limit() time.Duration {
	if x.Header.Notifies {
		return answerTime
	}
	return x.Header.BackOff.D() + answerTime
}

// measure determines how long a client has waited for a free key.
func (x *handOffs) measure(w *handOff, now time.Duration) {
	if len(w.open) == 0 || !w.known || w.clean != x.losses || !x.calm() {
		return
	}
	from := max(w.free, w.open[0].call, x.healed)
	if now <= from {
		return
	}
	x.judged++
	x.longest = max(x.longest, now-from)
	if !x.overrun(now - from - x.limit()) {
		return
	}
	waiter := w.open[0].op(w.key)
	ops, since := []histories.Op{waiter}, "no client held it"
	if w.last.Kind != 0 {
		ops, since = append(ops, w.last), x.tell("%s had released it at %s", &w.last, w.free)
	}
	x.show(w.key.Name, from, now, ops, "%s waited for %s from %s to %s, though %s; the limit is %s.",
		&waiter, w.key.Name, from, now, since, x.limit())
}

func (x *handOffs) Finding() checker.Finding {
	for i := range x.keys {
		if w := &x.keys[i]; w.key != nil {
			x.measure(w, x.Until)
		}
	}
	evidence := fmt.Sprintf("%s, longest %s", checker.Count(x.judged, "hand-off"), checker.Milliseconds(x.longest))
	return x.finding(evidence, reason{x.judged == 0, checker.NotApplicable, "no client is known to have waited for a free key"})
}
