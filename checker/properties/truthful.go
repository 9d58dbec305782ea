package properties

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// answers checks that definite answers are true. A release or a renewal of a valid hold must not be refused. An acquire
// must not be refused if the key is certainly free and no other client requests it.
// A repeated release must not be refused while the store still has the hold, and a refused acquire must leave no entry of a hold.
// A lock that checks the lease must not grant one that has ended. Without a fault, every answer must be definite, and a hold that can be released must not be reported as lost.
type answers struct {
	monitor
	keys      projection.PerKey[answered]
	releasing map[int32]*releasing // outstanding releases, by client
	lost      map[int32]int64      // number of the hold that was last reported as lost, by client
	alarms    falseAlarms
	definite  int // number of definite answers
	blank     unexplained
	expired   expiredGrants
}

type answered struct {
	free  time.Duration // time from which the key is free if no client holds it; Forever: unknown
	stray time.Duration // return of the latest release by a client that may not have held the key
	open  []request     // outstanding acquires
	clean int           // value of Facts.upsets at the last undisturbed grant; refusals are judged only if no upset has happened since
	used  bool
	last  histories.Op // last release of the key

	repeated stillHeld
}

// request is an outstanding acquire. It is contended if another acquire of the key was outstanding at the same time.
type request struct {
	client    int32
	contended bool
}

// releasing is an outstanding release. It is valid if it returns before the end of the lease (field until).
type releasing struct {
	key   int
	until time.Duration
}

func newAnswers(m monitor) *answers {
	return &answers{monitor: m, releasing: map[int32]*releasing{}, lost: map[int32]int64{}}
}

func (x *answers) of(k *projection.Key) *answered {
	w := x.keys.Of(k)
	if !w.used {
		w.used, w.free, w.stray = true, -1, -1
		w.repeated.strays.cleansUp = x.Header.CleansUp
	}
	return w
}

func (x *answers) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	w := x.of(k)
	x.blank.event(ev, x.troubled < histories.Forever)
	if ev.Return && op.Outcome != histories.Unknown && (op.Kind == histories.Acquire || op.Kind == histories.Release || op.Kind == histories.Renew) {
		x.definite++
	}
	switch {
	case op.Kind == histories.Lost:
		x.lost[op.Client] = op.Hold
		x.alarms.lost(k, op)
	case op.Kind == histories.Release && !ev.Return:
		r := &releasing{key: k.Index}
		if h, _ := k.ReleasedBy(op); h != nil && h.Promised {
			r.until = h.Until
		}
		x.releasing[op.Client] = r
	case op.Kind == histories.Release:
		if r := x.releasing[op.Client]; r != nil && op.Return >= r.until {
			w.stray = op.Return
		}
		x.alarms.released(op, len(x.faults) == 0)
		delete(x.releasing, op.Client)
		if x.lost[op.Client] != op.Hold {
			w.repeated.handleReturn(k, op)
		}
	case op.Kind == histories.Seen:
		w.repeated.strays.closed(w.repeated.late(k, op, x.Facts))
		if o, complete := w.repeated.add(op); complete && !x.ShakenPrimary && !x.ChoosesKeys {
			w.repeated.observed(k, o, x.Facts)
		}
	case op.Kind == histories.Renew && op.Outcome == histories.Refused:
		if h := k.Numbered(op); h != nil {
			x.ofHold(k, h, op)
		}
	case op.Kind == histories.Renew:
		kept := w.repeated.late(k, op, x.Facts)
		w.free = max(w.free, kept)
		w.repeated.strays.closed(kept)
	case op.Kind == histories.Acquire && !ev.Return:
		w.repeated.requested(ev, x.unknownHold)
		for i := range w.open {
			w.open[i].contended = true
		}
		w.open = append(w.open, request{op.Client, len(w.open) > 0})
	case op.Kind == histories.Acquire:
		w.repeated.requested(ev, x.unknownHold)
		if op.Outcome == histories.Refused {
			w.repeated.leftovers.refused = *op
		}
		x.acquired(k, w, op)
	}
}

// acquired handles the return of an acquire. It counts a violation if the key was certainly free and the acquire was
// refused.
func (x *answers) acquired(k *projection.Key, w *answered, op *histories.Op) {
	contended := x.removeAcquire(w, op.Client)
	switch op.Outcome {
	case histories.OK:
		x.expired.granted(x.Facts, op)
	case histories.Unknown: // its request may still be queued, and be granted after a grant to another client
		w.free = max(w.free, x.unknownUntil(op.Return))
	}
	if op.Outcome != histories.Refused || op.Error == histories.Cancelled || contended || w.clean != x.upsets {
		return
	}
	if len(k.Live)+len(k.Releasing) > 0 || w.free >= op.Call {
		return
	}
	if !x.countViolation() {
		return
	}
	ops, since := []histories.Op{*op}, "no client had held it"
	if w.last.Kind != 0 {
		ops, since = append(ops, w.last), x.tell("%s had released it at %s", &w.last, w.last.Return)
	}
	x.show(k.Name, op.Call, op.Return, ops, "%s requested %s at %s and was refused (busy) at %s, though %s and no other client requested it.",
		op, k.Name, op.Call, op.Return, since)
}

// removeAcquire removes the outstanding acquire of a client. The result is true if the acquire was contended, or if its
// call is unknown.
func (x *answers) removeAcquire(w *answered, client int32) (contended bool) {
	for i, r := range w.open {
		if r.client == client {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return r.contended
		}
	}
	return true
}

// Fault handles a fault that ends a client. It removes the outstanding operations of the client.
func (x *answers) Fault(ev histories.Event) {
	delete(x.releasing, ev.Op.Client)
	for i := range x.keys {
		x.removeAcquire(&x.keys[i], ev.Op.Client)
		x.keys[i].repeated.occupied.handleClientEnd(ev.Op.Client, ev.Op.Call, x.unknownHold)
		x.keys[i].repeated.strays.handleClientEnd()
	}
}

func (x *answers) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	w := x.of(k)
	switch c {
	case projection.Began:
		w.repeated.refused = nil // a later hold may have the same content
	case projection.Closed:
		w.repeated.strays.closed(w.repeated.occupied.closed(h, x.Facts))
		w.repeated.leftovers.ended = w.repeated.leftovers.ended || h.Fault != nil
	}
	switch {
	case c == projection.Began:
		if len(k.Live) > 1 {
			w.stray = h.Granted // several clients hold the key, so one may have replaced the hold of another in the store
		}
		if alone := len(w.open) <= 1 && len(k.Live)+len(k.Releasing) == 1; alone && x.calm() {
			w.clean = x.upsets
		}
	case c == projection.Closed && h.Fault == nil && h.Release.Kind != 0 && h.Closed < histories.Forever:
		w.last = h.Release
		switch h.Release.Outcome {
		case histories.OK:
			w.free = max(w.free, h.Closed)
			if h.Unsure {
				w.free = max(w.free, x.unknownHold(h.Closed))
			}
		case histories.Refused:
			w.free = max(w.free, x.keptUntil(h))
			if h.Depth == 1 {
				x.ofHold(k, h, &h.Release)
			}
		default:
			w.free = max(w.free, x.keptUntil(h))
		}
	case c == projection.Closed:
		w.free = max(w.free, x.keptUntil(h))
	}
}

// keptUntil returns the time until which the store may still have a hold that was not released successfully.
func (x *answers) keptUntil(h *projection.Hold) time.Duration {
	if x.Header.SilentRenewals || h.Over == histories.Forever {
		return histories.Forever
	}
	return h.Over + max(0, x.Header.Bound.D()-x.Header.TTL.D()) + x.Slack
}

// ofHold handles a refused release or renewal of a hold. It counts a violation if the hold was certainly valid.
func (x *answers) ofHold(k *projection.Key, h *projection.Hold, op *histories.Op) {
	w := x.of(k)
	alone := len(k.Live)+len(k.Releasing) == 0 || len(k.Live) == 1 && k.Live[0] == h && len(k.Releasing) == 0
	if !h.Promised || op.Return >= h.Until || x.Shaken || !alone || x.mayHaveEnded(k, w, h) ||
		x.lost[op.Client] == h.Number() || x.disturbed(op.Client, op.Call) {
		return
	}
	if x.countViolation() {
		until := "has no end"
		if h.Until < histories.Forever {
			until = x.tell("lasts until %s", h.Until)
		}
		x.show(k.Name, op.Call, op.Return, []histories.Op{h.Acquire, *op}, "%s was granted %s at %s; its %s at %s was refused at %s, though its lease %s.",
			h, k.Name, h.Granted, op.Kind, op.Call, op.Return, until)
	}
}

// mayHaveEnded reports whether another client's release or grant may have ended the hold.
func (x *answers) mayHaveEnded(k *projection.Key, w *answered, h *projection.Hold) bool {
	for client, r := range x.releasing {
		if client != h.Acquire.Client && r.key == k.Index {
			return true
		}
	}
	return w.stray >= h.Acquire.Call
}

func (x *answers) Finding() checker.Finding {
	for i := range x.keys {
		for _, l := range x.keys[i].repeated.leftovers.certain() {
			if x.countViolation() {
				x.show(l.seen.Key, l.refused.Call, l.seen.Return, []histories.Op{l.refused, l.seen},
					"the store had the entry of a hold of %s at %s, though no client held it or requested it: %s was the last to request it, and was refused (busy) at %s.",
					l.seen.Key, l.seen.Call, &l.refused, l.refused.Return)
			}
		}
		for _, l := range x.keys[i].repeated.strays.certain() {
			slow := l.refused.Outcome == histories.Unknown && max(x.Stall, x.SlowestRead) >= busy
			if !slow && x.countViolation() {
				x.show(l.seen.Key, l.refused.Call, l.seen.Return, []histories.Op{l.refused, l.seen},
					"the store had the entry of a hold of %s at %s, though each acquire that may have written it was refused or abandoned: the last was that of %s, at %s.",
					l.seen.Key, l.seen.Call, &l.refused, l.refused.Return)
			}
		}
		for _, r := range x.keys[i].repeated.wrongRefusals() {
			if x.countViolation() {
				h := r.hold
				x.show(h.Acquire.Key, r.release.Call, r.seen.Return, []histories.Op{h.Acquire, h.Release, r.release, r.seen},
					"%s repeated the release of %s at %s and was refused (not held), though the store still had the hold at %s.",
					h, h.Acquire.Key, r.release.Call, r.seen.Call)
			}
		}
	}
	for _, op := range x.expired.certain(x.Facts) {
		if x.countViolation() {
			x.show(op.Key, op.Call, op.Return, []histories.Op{op}, "%s was granted %s at %s, though its lease of %s had ended: the granted request was sent at %s.",
				&op, op.Key, op.Return, op.Validity, op.Call+op.SentAfter)
		}
	}
	if x.Header.Fault != "" && max(x.Stall, x.SlowestRead) < busy { // a history of another tool may not have its faults
		x.unanswered()
	}
	return x.finding(checker.Count(x.definite, "definite answer"), reason{x.definite == 0, checker.NotApplicable, "no answer is definite"})
}

// unanswered counts the answers that are wrong or indefinite without a fault: operations without a definite answer that nothing
// explains, and reports of a loss that was none.
func (x *answers) unanswered() {
	x.blank.keepBefore(x.firstTrouble())
	for _, op := range x.blank.found {
		if x.countViolation() {
			x.show(op.Key, op.Call, op.Return, []histories.Op{op}, "the %s of %s by %s at %s ended at %s without a definite answer, though no fault had happened that explains it.",
				op.Kind, op.Key, &op, op.Call, op.Return)
		}
	}
	for _, a := range x.alarms.found {
		if x.countViolation() {
			x.show(a.release.Key, a.told.Call, a.release.Return, []histories.Op{a.told, a.release},
				"the lock reported the loss of %s at %s, though its release at %s succeeded; no fault had happened.", a.release.Key, a.told.Call, a.release.Call)
		}
	}
	for _, op := range x.blank.wrongTimeouts() {
		if x.countViolation() {
			x.show(op.Key, op.Call, op.Return, []histories.Op{op}, "%s requested %s at %s with a timeout of %s, which ended at %s without a definite answer, like that of %d other acquires; no fault had happened that explains it.",
				&op, op.Key, op.Call, op.Wait, op.Return, len(x.blank.timeouts)-1)
		}
	}
}
