package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// backed checks that the store backs the promises of a lock: an observation during a hold sees the key, with at least the
// promised remaining time.
//
// A key may have several entries in the store, for example a queue. It suffices that one of them lasts long enough. Which
// entries back no hold may become known only later, so that violations are counted at the end of the history.
type backed struct {
	monitor
	keys     projection.PerKey[backedKey]
	seen     int           // observations
	inHolds  int           // observations during a promised hold
	compared int           // observations during a hold in which the remaining time could be compared
	shaken   int           // observations after a fault that may have harmed the store
	longest  time.Duration // longest hold, until its release or the end of its promise
}

// observable is the length from which a hold is expected to contain an observation of the store.
const observable = 100 * time.Millisecond

type backedKey struct {
	key *projection.Key
	sightings
	open    []shortfall              // during holds that have not ended
	settled map[entrySet]*shortfalls // by the set of the entries that lasted long enough
}

// shortfall is an observation during a hold in which only some entries, or none, lasted long enough.
type shortfall struct {
	hold    *projection.Hold
	enough  entrySet
	call    time.Duration
	reply   time.Duration
	stated  time.Duration  // end of the promise at the time of the observation
	longest []histories.Op // the entry with the longest lease, or no entry
}

// shortfalls holds the first of several shortfalls with the same entries, and their number.
type shortfalls struct {
	shortfall
	n int
}

func (x *backed) Event(k *projection.Key, ev histories.Event) {
	s := x.keys.Of(k)
	s.key = k
	switch ev.Op.Kind {
	case histories.Acquire:
		s.occupied.event(ev, x.unknownHold)
		if ev.Return {
			s.inHold = nil
		}
	case histories.Seen:
		if o, complete := s.add(ev.Op); complete {
			x.observed(s, o)
		}
	}
}

// unknownHold returns the time until which an acquire without a definite answer may hold a key, if it returned at the
// given time.
func (x *backed) unknownHold(from time.Duration) time.Duration {
	if x.Header.SilentRenewals {
		return histories.Forever
	}
	return x.unknownUntil(from)
}

func (x *backed) observed(s *backedKey, o sighting) {
	x.seen++
	switch {
	case x.Shaken:
		x.shaken++
		return
	case s.occupied.free(s.key, o.call):
		s.freed(o)
		return
	}
	for _, h := range s.key.Live {
		if h.Granted <= o.call && h.Promised && h.Stated > o.reply {
			x.during(s, h, o)
		}
	}
}

// during compares an observation with the promise of a hold. Whether the hold lasted until the end of the observation is
// known only after the hold has ended.
func (x *backed) during(s *backedKey, h *projection.Hold, o sighting) {
	x.inHolds++
	s.held(o)
	f := shortfall{hold: h, call: o.call, reply: o.reply, stated: h.Stated}
	bounded := h.Stated == histories.Forever
	for i := range o.entries {
		e := &o.entries[i]
		bounded = bounded || e.Validity != histories.Unbounded
		if e.Validity == histories.Unbounded || h.Stated == histories.Forever || e.Validity >= h.Stated-o.reply {
			f.enough |= bit(e)
		}
		if len(f.longest) == 0 || f.longest[0].Validity != histories.Unbounded && e.Validity > f.longest[0].Validity {
			f.longest = []histories.Op{*e}
		}
	}
	if bounded || len(o.entries) == 0 {
		x.compared++
	}
	for i := range s.open {
		if s.open[i].hold == h && s.open[i].enough == f.enough {
			return
		}
	}
	s.open = append(s.open, f)
}

func (x *backed) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	s := x.keys.Of(k)
	if c != projection.Closed {
		return
	}
	s.occupied.closed(h, x.Header.SilentRenewals)
	if h.Promised {
		x.longest = max(x.longest, min(h.End, h.Stated)-h.Granted)
	}
	rest := s.open[:0]
	for _, f := range s.open {
		switch {
		case f.hold != h:
			rest = append(rest, f)
		case f.reply <= h.End:
			s.settle(f)
		}
	}
	s.open = rest
}

func (s *backedKey) settle(f shortfall) {
	if s.settled == nil {
		s.settled = map[entrySet]*shortfalls{}
	}
	if s.settled[f.enough] == nil {
		s.settled[f.enough] = &shortfalls{shortfall: f}
	}
	s.settled[f.enough].n++
}

// Fault handles a fault that ends a client. The outcome of its outstanding acquire is unknown.
func (x *backed) Fault(ev histories.Event) {
	for i := range x.keys {
		x.keys[i].occupied.gone(ev.Op.Client, ev.Op.Call, x.unknownHold)
	}
}

func (x *backed) Finding() checker.Finding {
	attributed := false
	for i := range x.keys {
		s := &x.keys[i]
		if s.backing&^s.passive == 0 {
			continue // the entries of this key are unknown
		}
		attributed = true
		for enough, f := range s.settled {
			if enough&^s.passive == 0 {
				x.violation(s.key, f)
			}
		}
	}
	return x.finding(fmt.Sprintf("%s of the store, %d during a promised hold", checker.Count(x.seen, "observation"), x.inHolds),
		reason{x.seen == 0, checker.NotApplicable, "the store was not observed"},
		reason{x.shaken > 0, checker.Undecided, "a fault of the servers or the network may have removed the lock from the store"},
		reason{x.inHolds == 0 && x.longest < observable, checker.NotApplicable, "no promised hold was long enough to be observed"},
		reason{x.inHolds == 0, checker.Undecided, "no observation of the store fell into a hold"},
		reason{!attributed, checker.NotApplicable, "the store's keys could not be attributed"},
		reason{x.compared == 0, checker.NotApplicable, "the store's keys do not expire, so their lease is not visible"})
}

func (x *backed) violation(k *projection.Key, f *shortfalls) {
	first := x.violations == 0 || f.call < x.witness.From
	x.violations += f.n
	if !first {
		return
	}
	what := "the store did not have it"
	ops := []histories.Op{f.hold.Acquire}
	if len(f.longest) > 0 {
		what = x.tell("the store had it for another %s only", f.longest[0].Validity)
		ops = append(ops, f.longest[0])
	} else {
		ops = append(ops, histories.Op{Client: histories.Harness, Kind: histories.Seen, Outcome: histories.OK, Key: k.Name, Due: f.call, Call: f.call, Return: f.reply})
	}
	promise := "until its release"
	if f.stated < histories.Forever {
		promise = "until " + checker.Milliseconds(f.stated)
	}
	x.show(k.Name, f.call, f.reply, ops, "%s was granted %s at %s with a promise %s; between %s and %s, %s.",
		f.hold, k.Name, f.hold.Granted, promise, f.call, f.reply, what)
}
