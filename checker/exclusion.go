package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/histories"
)

// exclusion is the monitor of one view: on one key, no two holds overlap. It sees each hold at its
// beginning, and looks at those that are live then; a renewal that comes after a takeover is seen through
// the heir that the lapsed hold remembers. What it sees is an overlap once the ends are known as well: a loss may
// be told of as late as after the next grant, and have taken place before it. O(live holds) per grant, memory
// O(live holds).
//
// That disjoint intervals [acquire.return, end] are all there is to a mutex, so that there is nothing to
// search, is proved in docs/design.md; oracle.go has Porcupine search all the same.
type exclusion struct {
	view
	*facts
	grants, empty, unstated int // holds seen; their interval empty; their end unknown
	open                    perKey[[]*overlap]
	tell                    func(first, second *hold, both time.Duration) string // what the witness shows
	found
	shown    [2]*hold
	freed    *hold  // that was given up late between the two, which is what let the second in; nil: none
	at       string // the key of the first violation
	violated map[string]bool
}

func newExclusion(c *facts, v view, tell func(first, second *hold, both time.Duration) string) *exclusion {
	return &exclusion{view: v, facts: c, tell: tell, violated: map[string]bool{}}
}

// Monitors returns the property that is monitored. With Violated it is all that the oracle compares itself with.
func (x *exclusion) Monitors() string { return x.property }

// Violated reports whether a violation was found on a key.
func (x *exclusion) Violated(key string) bool { return x.violated[key] }

// overlap is a hold that began while others lasted, as far as was known then.
type overlap struct {
	second *hold
	firsts []*hold
	last   *hold // the one that had ended last
}

// maxOpen is how many overlaps of a key may wait for a hold that does not end.
const maxOpen = 1024

func (x *exclusion) event(*key, histories.Event) {}

func (x *exclusion) change(k *key, h *hold, c change) {
	switch c {
	case began:
		x.began(k, h)
	case extended:
		if x.lapses && h.heir != nil && x.inside(h, h.heir.granted) && x.inside(h.heir, h.heir.granted) {
			x.overlaps(k, &overlap{second: h.heir, firsts: []*hold{h}, last: k.last})
			h.heir = nil
		}
	case ended:
		x.ended(k, h)
	}
}

func (x *exclusion) began(k *key, h *hold) {
	x.grants++
	if _, ok := x.end(h); !ok {
		x.unstated++
		return
	}
	if !x.inside(h, h.granted) {
		x.empty++
		return
	}
	o := &overlap{second: h, last: k.last}
	for _, other := range k.live {
		switch {
		case other == h:
		case x.inside(other, h.granted):
			o.firsts = append(o.firsts, other)
		case x.lapses && (other.heir == nil || other.heir.end <= other.heir.granted):
			other.heir = h
		}
	}
	if len(o.firsts) > 0 {
		x.overlaps(k, o)
	}
}

// overlaps keeps an overlap until two of its holds have ended. Where one never does, enough is enough.
func (x *exclusion) overlaps(k *key, o *overlap) {
	open := x.open.of(k)
	if *open = append(*open, o); len(*open) > maxOpen {
		x.violation((*open)[0])
		*open = slices.Delete(*open, 0, 1)
	}
}

// ended takes in the end of a hold, which may lie before the overlaps that it was seen in.
func (x *exclusion) ended(k *key, h *hold) {
	open := x.open.of(k)
	*open = slices.DeleteFunc(*open, func(o *overlap) bool {
		switch {
		case h.end > o.second.granted:
		case o.second == h:
			return true
		default:
			o.firsts = slices.DeleteFunc(o.firsts, func(first *hold) bool { return first == h })
		}
		if o.settled() {
			x.violation(o)
			return true
		}
		return len(o.firsts) == 0
	})
}

// settled tells whether two of an overlap's holds have ended, so that nothing can undo it.
func (o *overlap) settled() bool {
	return o.second.end < histories.Forever && slices.ContainsFunc(o.firsts, func(h *hold) bool { return h.end < histories.Forever })
}

// inside tells whether a hold that began earlier still lasts.
func (x *exclusion) inside(h *hold, at time.Duration) bool {
	end, ok := x.end(h)
	return ok && end > at
}

func (x *exclusion) violation(o *overlap) {
	first, second, name := o.firsts[0], o.second, o.second.acquire.Key
	if x.violations++; x.violations == 1 || second.granted < x.shown[1].granted {
		x.shown, x.at, x.freed = [2]*hold{first, second}, name, nil
		if l := o.last; l != nil && l != first && l != second && first.granted <= l.end && l.end <= second.granted {
			x.freed = l
		}
	}
	x.violated[name] = true
}

// finish counts what nothing has undone.
func (x *exclusion) finish() {
	for i := range x.open {
		for _, o := range x.open[i] {
			x.violation(o)
		}
		x.open[i] = nil
	}
}

func (x *exclusion) finding() Finding {
	x.finish()
	if x.violations > 0 {
		x.witness = x.show()
	}
	return x.found.finding(fmt.Sprintf("%s, %s", count(x.grants, "grant"), count(x.counts.HandOffs, "contended hand-off")),
		reason{x.grants == 0, NotApplicable, "nothing was granted"},
		reason{x.unstated == x.grants, NotApplicable, "the lock does not say how long its grants are valid"},
		reason{x.unstated > 0, Undecided, fmt.Sprintf("%d of %d grants do not say how long they are valid", x.unstated, x.grants)},
		// A fault may empty the promise at hand.
		reason{x.empty*10 > x.grants && x.empty > x.counts.Faults, Undecided, fmt.Sprintf("%d of %d promises had run out before they were received", x.empty, x.grants)})
}

// show returns the two acquires and their releases: as a rule four operations.
func (x *exclusion) show() *Witness {
	a, b := x.shown[0], x.shown[1]
	from := max(a.granted, b.granted)
	endA, _ := x.end(a)
	endB, _ := x.end(b)
	to := min(endA, endB, max(x.until, from))
	story := x.tell(a, b, to-from)
	ops := []histories.Op{a.acquire, b.acquire}
	for _, h := range []*hold{a, b} {
		switch {
		case h.release.Kind != 0:
			ops = append(ops, h.release)
		case h.fault != nil:
			ops = append(ops, *h.fault)
		}
	}
	if f := x.freed; f != nil && f.release.Outcome == histories.OK {
		ops = append(ops, f.acquire, f.release)
		story += fmt.Sprintf(" Between the two %s, which had been granted it at %s, released it, at %s.", x.who(f), ms(f.granted), ms(f.release.Call))
	}
	return witnessOf(x.at, from, to, story, ops...)
}
