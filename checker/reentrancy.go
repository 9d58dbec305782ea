package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/histories"
)

// newReentrancy judges what a lock owes an owner that takes it again.
func newReentrancy(f *facts) judgement {
	return &reentrant{facts: f}
}

type reentrant struct {
	*facts
	keys    perKey[map[int32]*entry]
	entries int // re-entries that were asked for while the hold lasted
	inners  int
	found
	shown    *hold // by the witness
	indirect bool  // the witness is another's grant, which may have other causes
	unclear  int   // what would show a violation, if nothing had been done to the servers
}

// entry is a nested acquire of a client that holds the key.
type entry struct {
	hold  *hold
	inner histories.Op
}

func (x *reentrant) event(k *key, ev histories.Event) {
	op := ev.Op
	entries := x.keys.of(k)
	switch op.Kind {
	case histories.Acquire:
		if !ev.Return {
			if h := k.heldBy(op); h != nil {
				x.entries++
				if *entries == nil {
					*entries = map[int32]*entry{}
				}
				(*entries)[op.Client] = &entry{h, *op}
			}
		} else if e := (*entries)[op.Client]; e != nil && e.inner.Call == op.Call {
			e.inner = *op
			x.returned(k, e, op)
		}
	case histories.Probe:
		if e := (*entries)[op.Client]; e != nil && ev.Return && op.Outcome == histories.OK {
			x.probed(k, e, op)
		}
	}
}

// returned judges the answer to a re-entry.
func (x *reentrant) returned(k *key, e *entry, op *histories.Op) {
	depth := int(op.Depth)
	refused := op.Outcome == histories.Refused
	counted := op.Outcome == histories.OK && depth != 0 && depth != e.hold.depth
	switch {
	case !x.lasts(e.hold, op.Return) || !refused && !counted:
	case x.shaken:
		x.unclear++
	case refused:
		x.violation(k, e, op.Return, fmt.Sprintf("%s held %s since %s and was refused when it took it again at %s.",
			x.who(e.hold), k.name, ms(e.hold.granted), ms(op.Return)))
	default:
		x.violation(k, e, op.Return, fmt.Sprintf("%s took %s for the %s time at %s, and the lock counted %d.",
			x.who(e.hold), k.name, ordinal(e.hold.depth), ms(op.Return), depth))
	}
}

// probed judges what the store says after an inner release while the outer hold lasts.
func (x *reentrant) probed(k *key, e *entry, op *histories.Op) {
	h := e.hold
	if op.Value == histories.ProbeMine || h.inners == 0 || h.inner.Outcome != histories.OK || !x.lasts(h, op.Return) || h.end <= op.Call {
		return
	}
	if x.shaken {
		x.unclear++
		return
	}
	says := "free"
	if op.Value == histories.ProbeOther {
		says = "held by another"
	}
	x.violation(k, e, op.Return, fmt.Sprintf("%s took %s at %s, took it again, and released it once at %s; at %s, before its last release, the store said that the key was %s.",
		x.who(h), k.name, ms(h.granted), ms(h.inner.Call), ms(op.Return), says), *op)
}

func (x *reentrant) change(k *key, h *hold, c change) {
	switch c {
	case innerReleased:
		x.inners++
	case began:
		for _, o := range k.live {
			if o != h && o.inners > 0 && o.heir == nil && h.acquire.Call >= o.inner.Call && x.lasts(o, h.granted) {
				x.grantedToAnother(k, o, h)
			}
		}
	case closed:
		switch {
		case h.inners == 0 || h.release.Outcome != histories.Refused || !x.lasts(h, h.closed):
		case x.shaken:
			x.unclear++
		default:
			x.violation(k, x.entryOf(k, h), h.closed, fmt.Sprintf("%s took %s at %s, took it again and released both: the last release at %s was refused, so an earlier one had freed it.",
				x.who(h), k.name, ms(h.granted), ms(h.release.Call)), h.release)
		}
		delete(*x.keys.of(k), h.acquire.Client)
	}
}

// grantedToAnother is another's grant, asked for after an inner release, while the outer hold lasts.
func (x *reentrant) grantedToAnother(k *key, o, h *hold) {
	if o.inner.Outcome != histories.OK {
		return
	}
	if x.shaken {
		x.unclear++
		return
	}
	x.violation(k, x.entryOf(k, o), h.granted, fmt.Sprintf("%s took %s at %s, took it again, and released it once at %s; then %s was granted it at %s, before the last release.",
		x.who(o), k.name, ms(o.granted), ms(o.inner.Call), x.who(h), ms(h.granted)), h.acquire)
}

func (x *reentrant) entryOf(k *key, h *hold) *entry {
	if e := (*x.keys.of(k))[h.acquire.Client]; e != nil && e.hold == h {
		return e
	}
	return &entry{hold: h}
}

// lasts tells whether a hold's promise covers a time; one that states no end does.
func (x *reentrant) lasts(h *hold, at time.Duration) bool { return !h.promised || h.until >= at }

// violation keeps the first witness, and one whose last operation is the lock's own answer before one in
// which it is another's grant.
func (x *reentrant) violation(k *key, e *entry, at time.Duration, story string, more ...histories.Op) {
	x.violations++
	indirect := len(more) > 0 && more[0].Kind == histories.Acquire
	if x.witness != nil && (indirect || !x.indirect) {
		return
	}
	x.indirect, x.shown = indirect, e.hold
	from, ops := e.hold.granted, []histories.Op{e.hold.acquire}
	if e.inner.Kind != 0 {
		ops = append(ops, e.inner)
	}
	if e.hold.inners > 0 {
		from = e.hold.inner.Call
		ops = append(ops, *e.hold.inner)
	}
	x.witness = witnessOf(k.name, from, at, story, append(ops, more...)...)
}

func (x *reentrant) finding() Finding {
	if x.violations > 0 {
		x.complete()
	}
	return x.found.finding(fmt.Sprintf("%d re-entries, %s", x.entries, count(x.inners, "inner release")),
		reason{x.entries == 0, NotApplicable, "nobody took a lock again that it held"},
		reason{x.unclear > 0, Undecided, count(x.unclear, "answer") + " came as if the key had been free, and what was done to the servers may be why"})
}

// complete adds the last release to the witness, which came after what it shows.
func (x *reentrant) complete() {
	last, w := x.shown.release, x.witness
	if last.Kind != 0 && !slices.ContainsFunc(w.Ops, func(op histories.Op) bool { return op.Call == last.Call && op.Client == last.Client }) {
		x.witness = witnessOf(w.Key, w.From, w.To, w.Story, append(w.Ops, last)...)
	}
}

func ordinal(n int) string {
	switch n {
	case 1:
		return "first"
	case 2:
		return "second"
	case 3:
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}
