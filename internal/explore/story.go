package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

// mostMoments is how many moments a story tells at most, besides what was left out and what was violated.
const mostMoments = 12

// Story tells how a property came to be violated, a sentence or two for each thing that happened, in the order in which
// they happened, each with its time in ms since the trial began. The last sentence is the judge's, without a time:
// what was violated, and why. What plays no part is left out, and how much that was is said. Of a property that was
// not violated it tells what went wrong, and that nothing came of it.
func (r *Run) Story(property string) []string {
	s := r.teller(property)
	var lines []string
	for _, m := range s.arranged() {
		lines = append(lines, fmt.Sprintf("%-9s  %s.", at(m.at), m.tell()))
	}
	if left := s.leftOut(); left != "" {
		lines = append(lines, left)
	}
	return append(lines, s.end())
}

// teller tells a run from the point of view of one property.
type teller struct {
	*Run
	property string
	finding  checker.Finding
	witness  *checker.Witness // never nil: empty where nothing was violated
	holds    []*tenure
	faults   []*befallen
	until    time.Duration  // what is called later is of no interest
	granted  time.Duration  // the last time that a hold of the witness was
	cast     map[int32]bool // the clients of whom something is told
	named    map[int32]bool // those whose process was mentioned
	told     map[place]bool // operations
	hidden   int            // faults that there was no room for
	dated    bool           // it was said who says until when a hold lasts
	waits    bool           // waiting in vain is what the property is about
}

// place is what tells operations apart.
type place struct {
	client int32
	kind   histories.Kind
	hold   int64
	call   time.Duration
}

func placeOf(op *histories.Op) place { return place{op.Client, op.Kind, op.Hold, op.Call} }

// moment is something that happened, and how to tell it: once, and in order, since who is mentioned for the first time
// is introduced.
type moment struct {
	at     time.Duration
	rank   int // at equal times: what ends comes before what goes wrong, and that before what begins
	weight int // what weighs least is left out first
	ops    []*histories.Op
	fault  *befallen
	tell   func() string
}

// The ranks and the weights of moments.
const (
	ends = iota
	heals
	befalls
	begins
	strikes // a command on its way, at the instant at which it was sent

	trifle  = 1
	ending  = 2 // of a fault that said how long it lasts
	scenery = 3
	crux    = 4
)

func (r *Run) teller(property string) *teller {
	s := &teller{Run: r, property: property, finding: r.Verdict.Finding(property), witness: &checker.Witness{},
		cast: map[int32]bool{}, named: map[int32]bool{}, told: map[place]bool{}}
	s.waits = slices.Contains([]string{"progress", "recovery", "exact-try"}, property)
	s.until = r.Verdict.Until
	if s.finding.Witness != nil {
		s.witness = s.finding.Witness
		s.until = s.witness.To
		for _, op := range s.witness.Ops {
			if op.Kind != histories.Release || property == "owner-release" {
				s.until = max(s.until, op.Call)
			}
		}
	}
	s.holds = holdsOf(r.Ops)
	for _, h := range s.holds {
		if s.holdInWitness(h.acquire) {
			s.granted = max(s.granted, h.acquire.Return)
		}
	}
	s.faults = matched(r.Plan.Steps, r.Ops, r.Header)
	s.align()
	s.choose()
	return s
}

// choose finds the cast: whoever is in the witness, whom a fault befell, and whose hold overlaps another's.
func (s *teller) choose() {
	for _, op := range s.witness.Ops {
		s.cast[op.Client] = true
	}
	for _, f := range s.faults {
		for _, c := range f.victims {
			s.cast[c] = f.from <= s.until || s.cast[c]
		}
	}
	for _, h := range s.holds {
		if h.acquire.Return <= s.until && len(s.others(h.acquire, h.acquire.Return)) > 0 {
			s.cast[h.acquire.Client] = true
		}
	}
	delete(s.cast, histories.Harness)
}

// tenure is a hold, from its grant to its end.
type tenure struct {
	acquire  *histories.Op
	release  *histories.Op // nil: there was none
	renewals []*histories.Op
	end      time.Duration // histories.Forever: it had none
}

func holdsOf(ops []histories.Op) []*tenure {
	var all []*tenure
	of := map[place]*tenure{}
	for i := range ops {
		op := &ops[i]
		if op.Kind == histories.Acquire && op.Outcome == histories.OK && !op.Open() {
			h := &tenure{acquire: op, end: histories.Forever}
			all = append(all, h)
			of[place{client: op.Client, hold: op.Hold}] = h
		}
	}
	for i := range ops {
		op := &ops[i]
		for _, h := range all {
			if op.EndsClient() && op.Client == h.acquire.Client && op.Call >= h.acquire.Return {
				h.end = min(h.end, op.Call)
			}
		}
		h := of[place{client: op.Client, hold: op.Hold}]
		switch {
		case h == nil:
		case op.Kind == histories.Release && h.release == nil:
			h.release, h.end = op, min(h.end, op.Call)
		case op.Kind == histories.Lost:
			h.end = min(h.end, op.Call)
		case op.Kind == histories.Renew && op.Outcome == histories.OK:
			h.renewals = append(h.renewals, op)
		}
	}
	return all
}

// promise is until when a hold was promised to last, as far as was known at a time; ok is false where nothing was said.
func (h *tenure) promise(at time.Duration) (until time.Duration, ok bool) {
	until, ok = h.acquire.Until(0)
	for _, renewal := range h.renewals {
		if later, said := renewal.Until(0); said && renewal.Return <= at {
			until, ok = max(until, later), true
		}
	}
	return until, ok
}

// others are the holds of others on the key of an operation that last at a time, the last of each client.
func (s *teller) others(op *histories.Op, at time.Duration) []*tenure {
	var all []*tenure
	for _, h := range s.holds {
		if h.acquire.Client == op.Client || h.acquire.Key != op.Key || h.acquire.Return >= at || h.end <= at {
			continue
		}
		all = slices.DeleteFunc(all, func(o *tenure) bool { return o.acquire.Client == h.acquire.Client })
		all = append(all, h)
	}
	return all
}

// arranged are the moments to be told, in their order.
func (s *teller) arranged() []*moment {
	all := append(s.quiet(), s.misfortunes()...)
	for i := range s.Ops {
		op := &s.Ops[i]
		if m := s.moment(op); m != nil && !s.told[placeOf(op)] {
			all = append(all, m)
			for _, op := range m.ops {
				s.told[placeOf(op)] = true
			}
		}
	}
	parts := s.parts(all)
	for len(parts) > mostMoments {
		all = s.without(all)
		parts = s.parts(all)
	}
	slices.SortStableFunc(parts, func(a, b *moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	return parts
}

// parts are the moments as each is told beside the others.
func (s *teller) parts(all []*moment) []*moment {
	var parts []*moment
	for _, m := range all {
		parts = append(parts, s.parted(m, all)...)
	}
	return parts
}

// without leaves out what weighs least, the oldest first.
func (s *teller) without(all []*moment) []*moment {
	least := slices.MinFunc(all, func(a, b *moment) int { return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.at, b.at)) })
	for _, op := range least.ops {
		delete(s.told, placeOf(op))
	}
	if least.fault != nil && least.weight == crux {
		s.hidden++
	}
	return slices.DeleteFunc(all, func(m *moment) bool { return m == least })
}

// key tells whether an operation is on what the witness is about.
func (s *teller) key(op *histories.Op) bool { return s.witness.Key == "" || op.Key == s.witness.Key }

// inWitness tells whether the witness has an operation.
func (s *teller) inWitness(op *histories.Op) bool {
	return slices.ContainsFunc(s.witness.Ops, func(w histories.Op) bool {
		return w.Client == op.Client && w.Kind == op.Kind && w.Call == op.Call
	})
}

// holdInWitness tells whether the witness has an operation of the same hold.
func (s *teller) holdInWitness(op *histories.Op) bool {
	return op.Hold != 0 && slices.ContainsFunc(s.witness.Ops, func(w histories.Op) bool { return w.Client == op.Client && w.Hold == op.Hold })
}

// fresh tells whether a client is the epilogue's, which come after all others.
func (s *teller) fresh(client int32) bool { return int(client) >= s.Params.Clients }

// moment is what is to be told of an operation; nil: nothing.
func (s *teller) moment(op *histories.Op) *moment {
	m := &moment{at: op.Call, rank: begins, weight: scenery, ops: []*histories.Op{op}}
	witness := s.inWitness(op)
	switch {
	case witness || s.holdInWitness(op):
		m.weight = crux
	case op.Call > s.granted:
		m.weight = trifle // what led up to it matters more
	}
	if op.Call > s.until || !s.key(op) || !witness && s.fresh(op.Client) && !s.waits {
		return nil
	}
	switch op.Kind {
	case histories.Acquire:
		return s.asking(m, op, witness)
	case histories.Release:
		m.tell = func() string { return s.giving(op) }
	case histories.Lost:
		m.tell = func() string { return fmt.Sprintf("the lock tells %s that %s is lost", s.client(op.Client), op.Key) }
	case histories.Renew:
		m.at, m.rank = op.Return, ends
		m.tell = func() string { return s.renewing(op) }
		if op.Open() || op.Return > s.until || op.Outcome == histories.OK && !witness {
			return nil
		}
	case histories.Read, histories.Write, histories.Append:
		m.tell = func() string { return s.using(op) }
		m.at = max(op.Call, op.Return) // it may have been called by a process that stands still
		if !witness && s.property != "resource-integrity" {
			return nil
		}
		if !witness {
			m.weight = trifle
		}
	case histories.Probe:
		m.tell = func() string { return s.probing(op) }
		if !witness {
			return nil
		}
	default:
		return nil
	}
	if !witness && !s.cast[op.Client] {
		return nil
	}
	return m
}

// asking is what is to be told of an acquire. Tries that were refused one after the other are one moment.
func (s *teller) asking(m *moment, op *histories.Op, witness bool) *moment {
	granted := op.Outcome == histories.OK && !op.Open()
	answered := !op.Open() && op.Return <= s.until
	switch {
	case granted && (answered && s.cast[op.Client] || witness):
	case op.Outcome == histories.Refused && (s.waits || witness):
		m.ops = s.refusals(op)
	case op.Open() && (s.waits || witness || s.gone(op)):
	case !op.Open() && op.Outcome == histories.Unknown && (s.cast[op.Client] || s.waits || witness):
	default:
		return nil
	}
	if !granted && !witness && op.Outcome == histories.Refused {
		m.weight = trifle
	}
	m.tell = func() string { return s.askingWhole(m) }
	return m
}

// refusals are the refused tries of one client from this on, until it does something else.
func (s *teller) refusals(first *histories.Op) []*histories.Op {
	var all []*histories.Op
	for i := range s.Ops {
		op := &s.Ops[i]
		if op.Client != first.Client || op.Call < first.Call || op.Kind.SelfStarted() && !op.EndsClient() {
			continue
		}
		if op.Kind != histories.Acquire || op.Outcome != histories.Refused || op.Key != first.Key || op.Call > s.until {
			break
		}
		all = append(all, op)
	}
	return all
}

// gone tells whether a client was no more before an operation of its could return.
func (s *teller) gone(op *histories.Op) bool {
	return slices.ContainsFunc(s.Ops, func(o histories.Op) bool {
		return o.EndsClient() && o.Client == op.Client && o.Call+instant >= op.Call && (op.Open() || o.Call <= op.Return)
	})
}

// quiet are the holds that went as they should, told together where nothing else happened between them.
func (s *teller) quiet() []*moment {
	var all []*moment
	for _, h := range s.holds {
		if !s.uneventful(h) {
			continue
		}
		ops := s.under(h)
		for _, op := range ops {
			s.told[placeOf(op)] = true
		}
		if n := len(all); n > 0 && s.calm(all[n-1].at, h.release.Return) {
			all[n-1].ops = append(all[n-1].ops, ops...)
			continue
		}
		m := &moment{at: h.acquire.Return, rank: ends, weight: trifle, ops: ops}
		m.tell = func() string { return s.quietly(m) }
		all = append(all, m)
	}
	return all
}

// under are the operations of a hold, its acquire first and its release last.
func (s *teller) under(h *tenure) []*histories.Op {
	all := []*histories.Op{h.acquire}
	for i := range s.Ops {
		op := &s.Ops[i]
		if op.Client == h.acquire.Client && op.Hold == h.acquire.Hold && op != h.acquire && op != h.release && !op.Kind.SelfStarted() {
			all = append(all, op)
		}
	}
	return append(all, h.release)
}

// uneventful tells whether a hold began and ended as it should while nothing went wrong and nobody else held.
func (s *teller) uneventful(h *tenure) bool {
	r := h.release
	if r == nil || r.Open() || r.Outcome != histories.OK || r.Return > s.until || !s.key(r) || h.end < r.Call || s.fresh(r.Client) ||
		slices.ContainsFunc(s.under(h), s.inWitness) {
		return false
	}
	overlaps := slices.ContainsFunc(s.holds, func(o *tenure) bool {
		return o.acquire.Client != r.Client && o.acquire.Key == r.Key && o.acquire.Return < h.end && h.acquire.Return < o.end
	})
	return !overlaps && s.calm(h.acquire.Return, r.Return)
}

// calm tells whether nothing goes wrong between two times, and no hold begins or ends of which more is to be told.
func (s *teller) calm(from, to time.Duration) bool {
	for _, f := range s.faults {
		if from <= f.from && f.from <= to {
			return false
		}
	}
	return !slices.ContainsFunc(s.witness.Ops, func(op histories.Op) bool {
		return op.Kind == histories.Acquire && from <= op.Return && op.Return <= to
	})
}

// leftOut says what was not told.
func (s *teller) leftOut() string {
	later, idle := 0, 0
	for i := range s.Ops {
		op := &s.Ops[i]
		switch {
		case op.Kind == histories.Inject || op.Kind == histories.Heal || s.told[placeOf(op)]:
		case op.Call > s.until:
			later++
		default:
			idle++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		noun string
		tail string
	}{{idle, "operation", " until then that play no part"}, {later, "operation", " later"}, {s.hidden, "fault", ""}} {
		if p.n > 0 {
			parts = append(parts, counted(p.n, p.noun)+p.tail)
		}
	}
	if parts == nil {
		return ""
	}
	return "Left out: " + strings.Join(parts, ", ") + "."
}

// end is the judge's sentence.
func (s *teller) end() string {
	switch {
	case s.finding.Witness != nil:
		return fmt.Sprintf("So %s is violated: %s", s.property, s.witness.Story)
	case s.finding.Why != "":
		return fmt.Sprintf("So %s is %s: %s.", s.property, s.finding.Observed, s.finding.Why)
	case s.finding.Observed == checker.Held:
		return fmt.Sprintf("%s holds all the same: no violation was observed.", s.property)
	}
	return fmt.Sprintf("So %s is %s.", s.property, s.finding.Observed)
}
