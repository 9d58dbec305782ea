package properties

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// exclusion checks that no two holds of a key overlap. It compares each new hold with the current holds of the key.
//
// If a client renews a hold after its lease expired, the hold may overlap with the next hold (field Heir). The lock may
// report late that a hold was lost. So an overlap becomes a violation only when the later hold and an earlier hold have
// ended.
//
// docs/reference/properties.md contains a proof: holds are linearizable as a mutex if and only if they do not overlap.
type exclusion struct {
	projection.View
	monitor
	grants   int // number of grants
	empty    int // number of grants that the client received after the hold had ended
	unstated int // number of grants for which the end of the hold is unknown
	open     projection.PerKey[[]*overlap]
	sentence func(first, second *projection.Hold, both time.Duration) string // returns the description of a violation
	shown    [2]*projection.Hold
	freed    *projection.Hold // another hold that ended between the grants of the two shown holds, or nil; its end may explain the second grant
	at       string           // name of the lock key of the reported violation
	violated map[string]bool
}

func newExclusion(m monitor, v projection.View, sentence func(first, second *projection.Hold, both time.Duration) string) *exclusion {
	return &exclusion{View: v, monitor: m, sentence: sentence, violated: map[string]bool{}}
}

// Monitors returns the name of the property that this monitor checks.
func (x *exclusion) Monitors() string { return x.Property }

// Violated reports whether a violation was found on a key.
func (x *exclusion) Violated(key string) bool { return x.violated[key] }

// overlap is a possible violation: one hold (field second) was granted before the end of earlier holds (field firsts).
// It is not a violation if the lock reports afterwards that these holds were lost before that grant.
type overlap struct {
	second *projection.Hold
	firsts []*projection.Hold
	last   *projection.Hold // hold that ended last before the second grant, or nil
}

// maxOpen is the maximum number of possible violations stored per key. If there are more, the oldest counts as a
// violation.
const maxOpen = 1024

func (x *exclusion) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	switch c {
	case projection.Began:
		x.began(k, h)
	case projection.Extended:
		x.extended(k, h)
		for _, other := range k.Live {
			if other != h && other.Heir == h { // h itself may have been granted after its lease had expired
				x.extended(k, other)
			}
		}
	case projection.Ended:
		x.handleEnd(k, h)
	}
}

// extended compares a hold with its heir after a renewal of one of the two.
func (x *exclusion) extended(k *projection.Key, h *projection.Hold) {
	if x.Lapses && h.Heir != nil && x.inside(h, h.Heir.Granted) && x.inside(h.Heir, h.Heir.Granted) {
		x.addOverlap(k, &overlap{second: h.Heir, firsts: []*projection.Hold{h}, last: k.Last})
		h.Heir = nil
	}
}

func (x *exclusion) began(k *projection.Key, h *projection.Hold) {
	x.grants++
	if _, ok := x.End(h); !ok {
		x.unstated++
		return
	}
	empty := !x.inside(h, h.Granted) // a renewal may still extend the lease
	if empty {
		x.empty++
	}
	o := &overlap{second: h, last: k.Last}
	for _, other := range k.Live {
		switch {
		case other == h:
		case !empty && x.inside(other, h.Granted):
			o.firsts = append(o.firsts, other)
		case x.Lapses && (other.Heir == nil || other.Heir.End <= other.Heir.Granted):
			other.Heir = h
		}
	}
	if len(o.firsts) > 0 {
		x.addOverlap(k, o)
	}
}

// addOverlap adds a possible violation to the queue of its key. If the queue then has more than maxOpen
// entries, the oldest entry is removed and counts as a violation.
func (x *exclusion) addOverlap(k *projection.Key, o *overlap) {
	open := x.open.Of(k)
	if *open = append(*open, o); len(*open) > maxOpen {
		x.violation((*open)[0])
		*open = slices.Delete(*open, 0, 1)
	}
}

// handleEnd handles the end of a hold. It drops possible violations that the end rules out, and counts those that have
// become certain.
func (x *exclusion) handleEnd(k *projection.Key, h *projection.Hold) {
	open := x.open.Of(k)
	*open = slices.DeleteFunc(*open, func(o *overlap) bool {
		switch {
		case h.End > o.second.Granted:
		case o.second == h:
			return true
		default:
			o.firsts = slices.DeleteFunc(o.firsts, func(first *projection.Hold) bool { return first == h })
		}
		if o.settled() {
			x.violation(o)
			return true
		}
		return len(o.firsts) == 0
	})
}

// settled reports whether the violation is certain. It is certain once the second hold and one of the earlier holds
// have ended.
func (o *overlap) settled() bool {
	return o.second.End < histories.Forever && slices.ContainsFunc(o.firsts, func(h *projection.Hold) bool { return h.End < histories.Forever })
}

func (x *exclusion) inside(h *projection.Hold, at time.Duration) bool {
	end, ok := x.End(h)
	return ok && end > at
}

func (x *exclusion) violation(o *overlap) {
	first, second, name := o.firsts[0], o.second, o.second.Acquire.Key
	if x.violations++; x.violations == 1 || second.Granted < x.shown[1].Granted {
		x.shown, x.at, x.freed = [2]*projection.Hold{first, second}, name, nil
		if l := o.last; l != nil && l != first && l != second && first.Granted <= l.End && l.End <= second.Granted {
			x.freed = l
		}
	}
	x.violated[name] = true
}

func (x *exclusion) Finding() checker.Finding {
	for i := range x.open {
		for _, o := range x.open[i] { // the history has ended, so all undecided overlaps are violations
			x.violation(o)
		}
	}
	if x.violations > 0 {
		x.tellFirst()
	}
	return x.finding(fmt.Sprintf("%s, %s", checker.Count(x.grants, "grant"), checker.Count(x.Counts.HandOffs, "contended hand-off")),
		reason{x.grants == 0, checker.NotApplicable, "nothing was granted"},
		reason{x.unstated == x.grants, checker.NotApplicable, "the lock does not say how long its grants are valid"},
		reason{x.unstated > 0, checker.Undecided, fmt.Sprintf("%d of %d grants do not say how long they are valid", x.unstated, x.grants)},
		reason{x.Header.WaitsInside && x.empty == x.grants, checker.NotApplicable, "every lease, counted from the call of the acquire, was over when the grant was received"},
		// A fault may delay a grant until its lease has expired, so one such grant per fault is allowed.
		reason{!x.Header.WaitsInside && x.empty*10 > x.grants && x.empty > x.Counts.Faults, checker.Undecided, fmt.Sprintf("%d of %d leases had expired before the grant was received", x.empty, x.grants)})
}

// tellFirst sets the witness: the operations that show the first violation, and a description of it.
func (x *exclusion) tellFirst() {
	a, b := x.shown[0], x.shown[1]
	from := max(a.Granted, b.Granted)
	endA, _ := x.End(a)
	endB, _ := x.End(b)
	to := min(endA, endB, max(x.Until, from))
	sentence := x.sentence(a, b, to-from)
	ops := []histories.Op{a.Acquire, b.Acquire}
	for _, h := range []*projection.Hold{a, b} {
		switch {
		case h.Release.Kind != 0:
			ops = append(ops, h.Release)
		case h.Fault != nil:
			ops = append(ops, *h.Fault)
		}
	}
	if f := x.freed; f != nil && f.Release.Outcome == histories.OK {
		ops = append(ops, f.Acquire, f.Release)
		sentence += x.tell(" Between the two %s, which had been granted it at %s, released it, at %s.", f, f.Granted, f.Release.Call)
	}
	x.show(x.at, from, to, ops, "%s", sentence)
}
