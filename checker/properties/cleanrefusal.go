package properties

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// stays is the time for which an entry must remain in the store after a refused acquire. A lock may remove its entry
// shortly after it has refused.
const stays = 50 * time.Millisecond

// refusals checks that a refused acquire leaves nothing in the store that keeps the key locked. It considers an acquire only
// if no client held or requested the key from an observation before its call to two observations after its return. Which
// entries of the store keep a key locked is learnt from observations during holds.
type refusals struct {
	monitor
	keys    projection.PerKey[refusedKey]
	checked int
}

type refusedKey struct {
	key *projection.Key
	sightings
	before  *entrySet  // entries at the last observation, if no acquire was called since and no client held the key then
	refused *refusal   // last acquire, if it may have left an entry
	left    []*refusal // acquires that left entries
}

// refusal is a refused acquire of a free key.
type refusal struct {
	op      histories.Op
	before  entrySet
	left    entrySet       // entries that it left, according to all observations since
	entries []histories.Op // entries at the first observation after its return
	first   time.Duration  // time of that observation; 0 before it
}

func (x *refusals) Event(k *projection.Key, ev histories.Event) {
	s, op := x.keys.Of(k), ev.Op
	s.key = k
	switch {
	case op.Kind == histories.Seen:
		if o, complete := s.add(op); complete && !x.Shaken {
			x.observed(s, o)
		}
	case op.Kind == histories.Acquire && !ev.Return:
		s.refused = nil
		if s.before != nil {
			s.refused = &refusal{op: *op, before: *s.before}
		}
		s.before = nil
		s.acquire(ev, x.unknownHold)
	case op.Kind == histories.Acquire:
		if s.refused != nil && op.Outcome == histories.Refused {
			s.refused.op = *op
		} else {
			s.refused = nil
		}
		s.acquire(ev, x.unknownHold)
	}
}

func (x *refusals) observed(s *refusedKey, o sighting) {
	s.before = nil
	if !s.learn(s.key, o) {
		return
	}
	s.before = &o.present
	r := s.refused
	switch {
	case r == nil:
	case r.first == 0:
		r.left, r.entries, r.first = o.present&^r.before, o.entries, o.reply
	case o.call-r.first >= stays:
		x.checked++
		if r.left &= o.present; r.left != 0 && len(s.left) < maxDoubts {
			s.left = append(s.left, r)
		}
		s.refused = nil
	}
}

func (x *refusals) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	if s := x.keys.Of(k); c == projection.Closed {
		s.occupied.closed(h, x.Header.SilentRenewals)
	}
}

// Fault handles a fault that ends a client. The outcome of its outstanding acquire is unknown.
func (x *refusals) Fault(ev histories.Event) {
	for i := range x.keys {
		x.keys[i].occupied.gone(ev.Op.Client, ev.Op.Call, x.unknownHold)
	}
}

func (x *refusals) Finding() checker.Finding {
	for i := range x.keys {
		s := &x.keys[i]
		for _, r := range s.left {
			if r.left&s.backing&^s.passive != 0 && x.first() {
				x.violation(s, r)
			}
		}
	}
	return x.finding(checker.Count(x.checked, "refused acquire")+" of a free key",
		reason{x.checked == 0, checker.NotApplicable, "no acquire was refused while the key was free and the store observed"})
}

func (x *refusals) violation(s *refusedKey, r *refusal) {
	ops := []histories.Op{r.op}
	for _, e := range r.entries {
		if r.left&s.backing&^s.passive&bit(&e) != 0 {
			ops = append(ops, e)
		}
	}
	x.show(r.op.Key, r.op.Call, r.first, ops, "%s requested %s at %s, when the store had no entry for it, and was refused at %s; no other client requested it, and the entry that the store then had was still there %s later.",
		&r.op, r.op.Key, r.op.Call, r.op.Return, stays)
}
