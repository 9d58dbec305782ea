package checker

import (
	"fmt"

	"lockbench/histories"
)

// noOrphan is judged by the epilogue: when all clients are done, a fresh one takes each key. A key that is
// still refused after the lock's bound belongs to nobody and is locked.
func noOrphan() Property {
	return Property{
		Name: "no-orphan",
		Doc:  "after the run a fresh client, waiting as long as the lock may need, is refused a key that nobody holds",
		open: func(f *facts) judgement { return &orphans{facts: f} },
	}
}

type orphans struct {
	*facts
	used    perKey[used]
	refused *Witness
	orphans int
}

// used is what happened to one key.
type used struct {
	name     string
	asked    bool
	epilogue histories.Outcome
	reached  bool         // by the epilogue
	last     histories.Op // the last hold's release, or its acquire where it has none
}

func (x *orphans) event(k *key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire {
		return
	}
	u := x.used.of(k)
	u.name, u.asked = k.name, true
	if !x.fresh(op) || !ev.Return {
		return
	}
	u.reached, u.epilogue = true, op.Outcome
	if op.Outcome == histories.Refused {
		x.orphan(k, u, op)
	}
}

func (x *orphans) orphan(k *key, u *used, op *histories.Op) {
	if x.orphans++; x.orphans > 1 {
		return
	}
	x.refused = &Witness{Key: k.name, From: op.Call, To: op.Return, Ops: []histories.Op{*op}}
	x.refused.Story = fmt.Sprintf("all clients were done when a fresh one asked for %s at %s, and it was still refused at %s, %s later",
		k.name, at(op.Call), at(op.Return), ms(op.Return-op.Call))
	if u.last.Kind == 0 {
		x.refused.Story += "."
		return
	}
	x.refused.Ops = append([]histories.Op{u.last}, x.refused.Ops...)
	x.refused.Story += fmt.Sprintf("; the last that was seen of the key was the %s by %s at %s (%s).",
		u.last.Kind, x.client(&u.last), at(u.last.Call), u.last.Outcome)
}

func (x *orphans) change(k *key, h *hold, c change) {
	u := x.used.of(k)
	switch c {
	case began:
		u.last = h.acquire
	case closed:
		if h.release.Kind != 0 {
			u.last = h.release
		}
	}
}

func (x *orphans) finding() Finding {
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
	f := Finding{Property: "no-orphan", Violations: x.orphans, Witness: x.refused,
		Evidence: count(reached, "key") + " taken by a fresh client at the end"}
	switch {
	case x.orphans > 0:
		f.Observed = Violated
	case reached+unknown == 0:
		f.Observed, f.Why = NotApplicable, "the history has no epilogue"
	case unreached+unknown > 0:
		f.Observed, f.Why = Undecided, fmt.Sprintf("the epilogue did not reach %d of %d keys", unreached+unknown, reached+unreached+unknown)
	default:
		f.Observed = Held
	}
	return f
}
