package properties

import (
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// maxDoubts is the maximum number of possible violations stored per key. While a key has that many, further refused
// acquires of the key are not checked.
const maxDoubts = 1024

// tries checks that a lock refuses a try (busy) only while the key is held. It checks only locks that promise this.
//
// A refusal is correct in each of these cases:
//   - The try was called before the end of an earlier hold.
//   - The next granted acquire was called before the refusal returned, so it may already have held the key.
//   - An acquire with an unknown outcome may have held the key during the try, until its lease expired.
type tries struct {
	monitor
	keys projection.PerKey[tried]
	open map[int32]time.Duration // call time of the outstanding acquire, by client
	busy int
}

type tried struct {
	name   string
	taken  time.Duration    // latest possible end of the earlier holds, or 0; a try called by that time may be refused
	latest *projection.Hold // hold that was granted last
	last   histories.Op     // last successful release
	doubts []doubt
}

// doubt is a refusal that may be a violation, because no hold or acquire is known that justifies it.
type doubt struct {
	op        histories.Op
	condemned bool // whether the next grant was requested after the refusal; such a grant cannot justify the refusal
}

func (x *tries) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if !x.Header.Exact || op.Kind != histories.Acquire {
		return
	}
	if !ev.Return {
		x.open[op.Client] = op.Call
		return
	}
	delete(x.open, op.Client)
	t := x.keys.Of(k)
	t.name = k.Name
	switch op.Outcome {
	case histories.Refused:
		x.busy++
		if (t.latest == nil || t.latest.Closed < histories.Forever) && (t.taken == 0 || t.taken < op.Call) && len(t.doubts) < maxDoubts {
			t.doubts = append(t.doubts, doubt{op: *op})
		}
	case histories.Unknown:
		x.unknown(t, op.Call, op.Return)
	}
	x.settle(t)
}

func (x *tries) unknown(t *tried, call, until time.Duration) {
	t.taken = max(t.taken, x.unknownUntil(until))
	t.doubts = slices.DeleteFunc(t.doubts, func(d doubt) bool { return call <= d.op.Return })
}

// Fault handles a fault that ends a client. The outcome of an outstanding acquire by that client is unknown.
func (x *tries) Fault(ev histories.Event) {
	call, ok := x.open[ev.Op.Client]
	if ev.Return || !ok {
		return
	}
	delete(x.open, ev.Op.Client)
	for i := range x.keys {
		x.unknown(&x.keys[i], call, ev.Op.Call)
		x.settle(&x.keys[i])
	}
}

func (x *tries) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	if !x.Header.Exact {
		return
	}
	t := x.keys.Of(k)
	switch {
	case c == projection.Began:
		t.latest = h
		t.doubts = slices.DeleteFunc(t.doubts, func(d doubt) bool { return !d.condemned && h.Acquire.Call <= d.op.Return })
		for i := range t.doubts {
			t.doubts[i].condemned = true
		}
	case c == projection.Closed && h != t.latest: // h ended before the latest grant, so it does not explain later refusals
	case c == projection.Closed && h.Release.Kind != 0 && h.Release.Outcome == histories.OK:
		t.taken, t.last = max(t.taken, h.Closed), h.Release
	case c == projection.Closed && h.Closed < histories.Forever:
		t.taken = max(t.taken, h.Closed, h.Over)
	}
}

func (x *tries) settle(t *tried) {
	if len(t.doubts) == 0 {
		return
	}
	oldest := histories.Forever
	for _, call := range x.open {
		oldest = min(oldest, call)
	}
	t.doubts = slices.DeleteFunc(t.doubts, func(d doubt) bool {
		settled := oldest > d.op.Return
		if settled && x.countViolation() {
			x.violation(t, d.op)
		}
		return settled
	})
}

func (x *tries) violation(t *tried, op histories.Op) {
	ops, sentence := []histories.Op{op}, "it had not been granted yet"
	if t.last.Kind != 0 && t.last.Return < op.Call {
		ops, sentence = append(ops, t.last), x.tell("%s had released it at %s", &t.last, t.last.Return)
	}
	x.show(t.name, op.Call, op.Return, ops, "%s requested %s at %s and was refused (busy) at %s; %s, and it was granted to no other client in between.",
		&op, t.name, op.Call, op.Return, sentence)
}

func (x *tries) Finding() checker.Finding {
	if !x.Header.Exact {
		return checker.Finding{Observed: checker.NotApplicable, Why: "the lock does not promise that busy means held"}
	}
	for i := range x.keys {
		x.settle(&x.keys[i]) // count each remaining refusal as a violation, unless an acquire that has not returned may have caused it
	}
	return x.finding(checker.Count(x.busy, "busy answer"),
		reason{x.busy == 0, checker.NotApplicable, "no acquire was refused as busy"})
}
