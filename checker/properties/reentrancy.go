package properties

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// reentrant checks that the holder of a lock can acquire the lock again, and keeps the lock until each acquire is
// released.
type reentrant struct {
	monitor
	keys     projection.PerKey[map[int32]*entry]
	entries  int // number of nested acquires
	inners   int
	shown    *projection.Hold // hold that the reported violation concerns
	indirect bool             // whether the reported violation is a grant to another client, which may have causes other than a defect in reentrancy
	unclear  int              // number of possible violations that a server fault may explain
}

// entry is a nested acquire of a hold.
type entry struct {
	hold  *projection.Hold
	inner histories.Op
	until time.Duration // end of the hold's lease, without the lease of the nested acquire
	open  bool          // whether the nested acquire has not returned
}

func (x *reentrant) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	entries := x.keys.Of(k)
	switch op.Kind {
	case histories.Acquire:
		if !ev.Return {
			if h := k.HeldBy(op); h != nil {
				x.entries++
				if *entries == nil {
					*entries = map[int32]*entry{}
				}
				(*entries)[op.Client] = &entry{h, *op, h.Until, true}
			}
		} else if e := (*entries)[op.Client]; e != nil && e.inner.Call == op.Call {
			e.inner, e.open = *op, false
			x.handleReturn(k, e, op)
		}
	case histories.Renew:
		if e := (*entries)[op.Client]; e != nil && e.open {
			e.until = e.hold.Until
		}
	case histories.Probe:
		if e := (*entries)[op.Client]; e != nil && ev.Return && op.Outcome == histories.OK {
			x.probed(k, e, op)
		}
	}
}

func (x *reentrant) handleReturn(k *projection.Key, e *entry, op *histories.Op) {
	depth := int(op.Depth)
	refused := op.Outcome == histories.Refused
	counted := op.Outcome == histories.OK && depth != 0 && depth != e.hold.Depth
	outer := &e.hold.Acquire
	renumbered := op.Outcome == histories.OK && op.Fence != 0 && outer.Fence != 0 && op.Fence != outer.Fence
	switch {
	case e.hold.Promised && e.until < op.Return || !refused && !counted && !renumbered:
	case x.Shaken:
		x.unclear++
	case refused:
		x.violation(k, e, op.Return, nil, "%s held %s since %s and was refused when it took it again at %s.",
			e.hold, k.Name, e.hold.Granted, op.Return)
	case renumbered:
		x.violation(k, e, op.Return, nil, "%s held %s with token %d and was granted it again at %s with token %d; a resource that has seen the higher one refuses the other.",
			e.hold, k.Name, outer.Fence, op.Return, op.Fence)
	default:
		x.violation(k, e, op.Return, nil, "%s took %s for the %s time at %s, and the lock counted %d.",
			e.hold, k.Name, ordinal(e.hold.Depth), op.Return, depth)
	}
}

// probed handles the store's reply to a probe for the holder of the key. After the release of a nested acquire, the
// holder must still have the key.
func (x *reentrant) probed(k *projection.Key, e *entry, op *histories.Op) {
	h := e.hold
	if op.Value == histories.ProbeMine || h.Inners == 0 || h.Inner.Outcome != histories.OK || !x.leaseValid(h, op.Return) || h.End <= op.Call {
		return
	}
	if x.Shaken {
		x.unclear++
		return
	}
	says := "free"
	if op.Value == histories.ProbeOther {
		says = "held by another client"
	}
	x.violation(k, e, op.Return, op, "%s took %s at %s, took it again, and released it once at %s; at %s, before its last release, the store said that the key was %s.",
		h, k.Name, h.Granted, h.Inner.Call, op.Return, says)
}

func (x *reentrant) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	switch c {
	case projection.InnerReleased:
		x.inners++
	case projection.Began:
		for _, o := range k.Live {
			switch { // after the release of a nested acquire, hold o still lasts, so a grant to another client is a violation
			case o == h || o.Inners == 0 || o.Heir != nil || h.Acquire.Call < o.Inner.Call || !x.leaseValid(o, h.Granted):
			case o.Inner.Outcome != histories.OK:
			case x.Shaken:
				x.unclear++
			default:
				x.violation(k, x.entryOf(k, o), h.Granted, &h.Acquire,
					"%s took %s at %s, took it again, and released it once at %s; %s was granted it at %s, before the last release.",
					o, k.Name, o.Granted, o.Inner.Call, h, h.Granted)
			}
		}
	case projection.Closed:
		switch {
		case h.Inners == 0 || h.Release.Outcome != histories.Refused || !x.leaseValid(h, h.Closed):
		case x.Shaken:
			x.unclear++
		default:
			x.violation(k, x.entryOf(k, h), h.Closed, &h.Release,
				"%s took %s at %s, took it again and released both: the last release at %s was refused, so an earlier one had freed it.",
				h, k.Name, h.Granted, h.Release.Call)
		}
		delete(*x.keys.Of(k), h.Acquire.Client)
	}
}

func (x *reentrant) entryOf(k *projection.Key, h *projection.Hold) *entry {
	if e := (*x.keys.Of(k))[h.Acquire.Client]; e != nil && e.hold == h {
		return e
	}
	return &entry{hold: h}
}

// leaseValid reports whether the lease of a hold is valid at the given time. A lease of unknown length is always valid.
func (x *reentrant) leaseValid(h *projection.Hold, at time.Duration) bool {
	return !h.Promised || h.Until >= at
}

// violation counts a violation and stores the first violation for the report. A grant to another client is weak
// evidence, because it may have causes other than a defect in reentrancy. The first violation of another kind therefore
// replaces a stored violation of this kind.
func (x *reentrant) violation(k *projection.Key, e *entry, at time.Duration, by *histories.Op, format string, args ...any) {
	x.violations++
	indirect := by != nil && by.Kind == histories.Acquire
	if x.witness != nil && (indirect || !x.indirect) {
		return
	}
	x.indirect, x.shown = indirect, e.hold
	from, ops := e.hold.Granted, []histories.Op{e.hold.Acquire}
	if e.inner.Kind != 0 {
		ops = append(ops, e.inner)
	}
	if e.hold.Inners > 0 {
		from = e.hold.Inner.Call
		ops = append(ops, *e.hold.Inner)
	}
	if by != nil {
		ops = append(ops, *by)
	}
	x.show(k.Name, from, at, ops, format, args...)
}

func (x *reentrant) Finding() checker.Finding {
	if x.violations > 0 { // also show the holder's last release, which is later than the violation
		last, w := x.shown.Release, x.witness
		if last.Kind != 0 && !slices.ContainsFunc(w.Ops, func(op histories.Op) bool { return op.Call == last.Call && op.Client == last.Client }) {
			x.show(w.Key, w.From, w.To, append(w.Ops, last), "%s", w.Sentence)
		}
	}
	return x.finding(fmt.Sprintf("%d re-entries, %s", x.entries, checker.Count(x.inners, "inner release")),
		reason{x.entries == 0, checker.NotApplicable, "no client acquired a lock again that it held"},
		reason{x.unclear > 0, checker.Undecided, checker.Count(x.unclear, "answer") + " would show a violation, but faults of servers may be the cause"})
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
