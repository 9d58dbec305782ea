package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// backed checks that the store backs the promises of a lock, and that the promise is not shorter than the requested lease. Each
// observation of the store during a hold must find the key, with at least the promised remaining time.
//
// A key may have several entries in the store, such as a queue of waiters. One entry that lasts long enough suffices,
// if it belongs to the hold. It may become known only later that an entry belongs to no hold. Violations are therefore
// counted at the end of the history.
type backed struct {
	monitor
	keys     projection.PerKey[backedKey]
	seen     int // observations
	inHolds  int // number of observations during promised holds
	compared int // number of observations during holds in which the remaining time could be compared
	shaken   int // number of observations after a fault that may have harmed the store
	holds    int // promised holds
	long     int // number of promised holds that are long enough to contain an observation
}

// observable is the minimum length of a hold that is expected to contain an observation of the store.
const observable = 100 * time.Millisecond

type backedKey struct {
	key *projection.Key
	sightings
	open    []comparison              // observations during holds that have not ended
	settled map[entrySet]*comparisons // comparisons with ended holds, by the set of entries that lasted long enough
}

// comparison compares an observation with the promise of a hold.
type comparison struct {
	hold    *projection.Hold
	enough  entrySet // entries that lasted long enough
	call    time.Duration
	reply   time.Duration
	stated  time.Duration  // end of the promise at the time of the observation
	longest []histories.Op // the entry with the longest lease, or no entry
	bounded bool           // whether remaining times can be compared: the promise has no end, an entry expires, or there is no entry
}

// comparisons counts the comparisons in which the same entries lasted long enough. It stores the first one.
type comparisons struct {
	comparison
	n int
}

func (x *backed) Event(k *projection.Key, ev histories.Event) {
	s := x.keys.Of(k)
	s.key = k
	switch ev.Op.Kind {
	case histories.Acquire:
		s.acquire(ev, x.unknownHold)
	case histories.Renew:
		s.late(k, ev.Op, x.Facts)
	case histories.Seen:
		s.late(k, ev.Op, x.Facts)
		if o, complete := s.add(ev.Op); complete {
			x.observed(s, o)
		}
	}
}

func (x *backed) observed(s *backedKey, o sighting) {
	x.seen++
	switch {
	case x.Shaken:
		x.shaken++
		return
	case s.learn(s.key, o):
		return
	}
	for _, h := range s.key.Live {
		if o.insideHold(h) {
			x.compareObservation(s, h, o)
		}
	}
}

// compareObservation compares an observation with the promise of a hold. The comparison counts only if the hold lasted
// until the end of the observation. This is known only after the hold has ended.
func (x *backed) compareObservation(s *backedKey, h *projection.Hold, o sighting) {
	stated := h.StatedAt(o.call) // the store may have been read before a renewal that was confirmed meanwhile
	f := comparison{hold: h, call: o.call, reply: o.reply, stated: stated}
	f.bounded = stated == histories.Forever || len(o.entries) == 0
	for i := range o.entries {
		e := &o.entries[i]
		f.bounded = f.bounded || e.Validity != histories.Unbounded
		if e.Validity == histories.Unbounded || stated == histories.Forever || e.Validity >= stated-o.reply {
			f.enough |= bit(e)
		}
		if len(f.longest) == 0 || f.longest[0].Validity != histories.Unbounded && e.Validity > f.longest[0].Validity {
			f.longest = []histories.Op{*e}
		}
	}
	s.open = append(s.open, f)
}

func (x *backed) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	s := x.keys.Of(k)
	if c == projection.Began {
		x.compareRequest(k, &h.Acquire)
	}
	if c != projection.Closed {
		return
	}
	s.occupied.closed(h, x.Facts)
	if h.Promised {
		x.holds++
		if min(h.End, h.Stated)-h.Granted >= observable {
			x.long++
		}
	}
	rest := s.open[:0]
	for _, f := range s.open {
		switch {
		case f.hold != h:
			rest = append(rest, f)
		case f.reply <= h.End:
			x.inHolds++
			if f.bounded {
				x.compared++
			}
			s.settle(f)
		}
	}
	s.open = rest
}

// compareRequest compares the promise of a grant with the shortest lease that clients request. A lock may reserve the slack for
// clock drift.
func (x *backed) compareRequest(k *projection.Key, grant *histories.Op) {
	least := x.Header.LeastGrant.D()
	if grant.Validity > 0 && grant.Validity < least-x.Slack && x.countViolation() {
		x.show(k.Name, grant.Call, grant.Return, []histories.Op{*grant}, "%s was granted %s at %s with a lease of %s only, but no client requests less than %s.",
			grant, k.Name, grant.Return, grant.Validity, least)
	}
}

func (s *backedKey) settle(f comparison) {
	if s.settled == nil {
		s.settled = map[entrySet]*comparisons{}
	}
	if s.settled[f.enough] == nil {
		s.settled[f.enough] = &comparisons{comparison: f}
	}
	s.settled[f.enough].n++
}

// Fault handles a fault that ends a client. The outcome of the client's outstanding acquire is unknown.
func (x *backed) Fault(ev histories.Event) {
	for i := range x.keys {
		x.keys[i].occupied.handleClientEnd(ev.Op.Client, ev.Op.Call, x.unknownHold)
	}
}

func (x *backed) Finding() checker.Finding {
	attributed := false
	for i := range x.keys {
		s := &x.keys[i]
		if s.backing&^s.passive == 0 {
			continue // it is unknown which entries of the store belong to this key
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
		reason{x.inHolds == 0 && 2*x.long <= x.holds, checker.NotApplicable, "the holds are too short to be observed"},
		reason{x.inHolds == 0, checker.Undecided, "no observation of the store fell into a hold"},
		reason{!attributed, checker.NotApplicable, "the store's keys could not be attributed"},
		reason{x.compared == 0, checker.NotApplicable, "the store's keys do not expire, so their lease is not visible"})
}

func (x *backed) violation(k *projection.Key, f *comparisons) {
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
