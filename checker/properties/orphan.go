package properties

import (
	"fmt"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// orphans checks that no key stays locked after all clients have finished. At the end of a run, a new client acquires
// each key. A refusal after the maximum waiting time is a violation, unless the lock may still renew the last hold. It may do so
// if the outcome of the release is unknown.
type orphans struct {
	monitor
	used projection.PerKey[used]
}

type used struct {
	name     string
	asked    bool
	epilogue histories.Outcome
	held     int64        // number of the last hold
	renewed  int64        // number of the hold that was last renewed
	reached  bool         // a new client has tried to acquire the key at the end of the run
	last     histories.Op // release of the last hold; if that hold was not released, the acquire of that hold
}

func (x *orphans) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind == histories.Renew && op.Outcome == histories.OK {
		x.used.Of(k).renewed = op.Hold
	}
	if op.Kind != histories.Acquire {
		return
	}
	u := x.used.Of(k)
	u.name, u.asked = k.Name, true
	if !x.Fresh(op) || !ev.Return {
		return
	}
	u.reached, u.epilogue = true, op.Outcome
	if l := u.last; op.Outcome == histories.Refused && l.Kind == histories.Release && l.Outcome == histories.Unknown && u.renewed == u.held {
		u.epilogue = histories.Unknown
		return
	}
	if op.Outcome != histories.Refused || !x.countViolation() {
		return
	}
	ops, before := []histories.Op{*op}, ""
	if l := u.last; l.Kind != 0 {
		ops = []histories.Op{l, *op}
		before = x.tell("; the last operation on the key was the %s by %s at %s (%s)", l.Kind, &l, l.Call, l.Outcome)
	}
	x.show(k.Name, op.Call, op.Return, ops, "all clients had finished when a fresh one requested %s at %s, and it was still refused at %s, %s later%s.",
		k.Name, op.Call, op.Return, op.Return-op.Call, before)
}

func (x *orphans) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	u := x.used.Of(k)
	switch c {
	case projection.Began:
		u.last, u.held = h.Acquire, h.Number()
	case projection.Closed:
		if h.Release.Kind != 0 {
			u.last, u.held = h.Release, h.Number()
		}
	}
}

func (x *orphans) Finding() checker.Finding {
	reached, unreached, unknown := 0, 0, 0
	for _, u := range x.used {
		switch {
		case u.reached && u.epilogue == histories.Unknown:
			unknown++
		case u.reached:
			reached++
		case u.asked:
			unreached++
		}
	}
	return x.finding(checker.Count(reached, "key")+" taken by a fresh client at the end",
		reason{reached+unknown == 0, checker.NotApplicable, "the history has no epilogue"},
		reason{unreached+unknown > 0, checker.Undecided, fmt.Sprintf("the epilogue did not reach %d of %d keys", unreached+unknown, reached+unreached+unknown)})
}
