package checker

import (
	"fmt"

	"lockbench/histories"
)

// newNoOrphan judges judged by the epilogue: when all clients are done, a fresh one takes each key. A key that is
// still refused after the lock's bound belongs to nobody and is locked.
func newNoOrphan(f *facts) judgement {
	return &orphans{facts: f}
}

type orphans struct {
	*facts
	used perKey[used]
	found
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
	if !x.first() {
		return
	}
	story := fmt.Sprintf("all clients were done when a fresh one asked for %s at %s, and it was still refused at %s, %s later",
		k.name, ms(op.Call), ms(op.Return), ms(op.Return-op.Call))
	ops := []histories.Op{*op}
	if u.last.Kind != 0 {
		ops = []histories.Op{u.last, *op}
		story += fmt.Sprintf("; the last that was seen of the key was the %s by %s at %s (%s)",
			u.last.Kind, x.client(&u.last), ms(u.last.Call), u.last.Outcome)
	}
	x.witness = &Witness{Key: k.name, From: op.Call, To: op.Return, Story: story + ".", Ops: ops}
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
	return x.found.finding(count(reached, "key")+" taken by a fresh client at the end",
		reason{reached+unknown == 0, NotApplicable, "the history has no epilogue"},
		reason{unreached+unknown > 0, Undecided, fmt.Sprintf("the epilogue did not reach %d of %d keys", unreached+unknown, reached+unreached+unknown)})
}
