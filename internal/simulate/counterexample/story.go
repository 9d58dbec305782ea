// Package stories tells what happened in a trial to people: in numbered sentences, and as swim lanes in text. What was
// recorded, what was planned and what was judged go in; nothing here decides anything.
package counterexample

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// Most is how many moments a story tells at most, besides what was left out and what was violated.
const Most = 12

// Trial is what there is to tell of one.
type Trial struct {
	Deployment string
	Params     workloads.Params
	Plan       faults.Plan
	Header     histories.Header
	Ops        []histories.Op // in the order of their calls
	Verdict    *checker.Verdict
}

// Sentences tell how a property came to be violated, a sentence or two for each thing that happened, in the order in which
// they happened, each with its time in ms since the trial began. The last sentence is the judge's, without a time:
// what was violated, and why. What plays no part is left out, and how much that was is said. Of a property that was
// not violated it tells what went wrong, and that nothing came of it.
func (t Trial) Sentences(property string) []string {
	s := t.teller(property)
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
	Trial
	property string
	finding  checker.Finding
	witness  *checker.Witness // never nil: empty where nothing was violated
	holds    []*tenure
	faults   []*befallen
	inner    map[place]bool // by client and hold
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
	struck  = 4 // of a hold that a fault befell
	crux    = 5
)

func (t Trial) teller(property string) *teller {
	s := &teller{Trial: t, property: property, finding: t.Verdict.Finding(property), witness: &checker.Witness{},
		cast: map[int32]bool{}, named: map[int32]bool{}, told: map[place]bool{}}
	s.waits = slices.Contains([]string{"progress", "recovery", "exact-try"}, property)
	s.until = t.Verdict.Until
	if s.finding.Witness != nil {
		s.witness = s.finding.Witness
		s.until = s.witness.To
		for _, op := range s.witness.Ops {
			if op.Kind != histories.Release || property == "owner-release" {
				s.until = max(s.until, op.Call)
			}
		}
	}
	s.holds, s.inner = holdsOf(t.Ops)
	for _, h := range s.holds {
		if s.holdInWitness(h.acquire) {
			s.granted = max(s.granted, h.acquire.Return)
		}
	}
	s.faults = matched(t.Plan.Steps, t.Ops, t.Header)
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
	for len(all) > Most {
		all = s.without(all)
	}
	parts := s.parts(all)
	for len(parts) > Most {
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
	if least.fault != nil && least.weight == crux {
		s.hidden++
	}
	return slices.DeleteFunc(all, func(m *moment) bool {
		if m != least && (m.weight == crux || !m.sameHold(least)) {
			return false
		}
		for _, op := range m.ops {
			delete(s.told, placeOf(op))
		}
		return true
	})
}

// sameHold tells whether two moments are the beginning and the end of one hold: one is not told without the other.
func (m *moment) sameHold(o *moment) bool {
	if m.fault != nil || o.fault != nil {
		return false
	}
	a, b := m.ops[0], o.ops[0]
	ends := b.Kind == histories.Acquire || b.Kind == histories.Release
	return ends && a.Hold != 0 && a.Client == b.Client && a.Hold == b.Hold
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

// befell tells whether a fault befell the client of an operation in its hold.
func (s *teller) befell(op *histories.Op) bool {
	i := slices.IndexFunc(s.holds, func(h *tenure) bool { return h.acquire.Client == op.Client && h.acquire.Hold == op.Hold })
	if i < 0 {
		return false
	}
	from, to := s.holds[i].acquire.Call, s.holds[i].end
	if r := s.holds[i].release; r != nil {
		to = max(r.Call, r.Return)
	}
	return slices.ContainsFunc(s.faults, func(f *befallen) bool {
		return slices.Contains(f.victims, op.Client) && from <= f.from && f.from <= to
	})
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
	case s.befell(op):
		m.weight = struck
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
		if op.Open() || op.Return > s.until || op.Outcome == histories.OK && !witness && s.property != "renewal" {
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
	if !witness && (!s.cast[op.Client] || s.again(op) && s.property != "reentrancy") {
		return nil
	}
	return m
}

// again tells whether an operation is of a lock that its client had already.
func (s *teller) again(op *histories.Op) bool {
	return s.inner[place{client: op.Client, hold: op.Hold}]
}

// asking is what is to be told of an acquire. Tries in vain one after the other are one moment.
func (s *teller) asking(m *moment, op *histories.Op, witness bool) *moment {
	if s.again(op) {
		m.tell = func() string {
			return fmt.Sprintf("%s, which holds %s, takes it once more", s.client(op.Client), op.Key)
		}
		if !witness && (!s.cast[op.Client] || s.property != "reentrancy") {
			return nil
		}
		return m
	}
	granted := op.Outcome == histories.OK && !op.Open()
	answered := !op.Open() && op.Return <= s.until
	switch {
	case granted && (answered && s.cast[op.Client] || witness):
	case !op.Open() && op.Outcome != histories.OK && (s.waits || witness || op.Outcome == histories.Unknown && s.property == "no-orphan"):
		m.ops = s.tries(op)
	case op.Open() && (s.waits || witness || s.gone(op)):
	case !op.Open() && op.Outcome == histories.Unknown && s.cast[op.Client]:
	default:
		return nil
	}
	if !granted && !witness && op.Outcome == histories.Refused {
		m.weight = trifle
	}
	m.tell = func() string { return s.askingWhole(m) }
	return m
}

// tries are those of one client that got it nothing, from this on until it does something else.
func (s *teller) tries(first *histories.Op) []*histories.Op {
	var all []*histories.Op
	for i := range s.Ops {
		op := &s.Ops[i]
		if op.Client != first.Client || op.Call < first.Call || op.Kind.SelfStarted() && !op.EndsClient() {
			continue
		}
		if op.Kind != histories.Acquire || op.Open() || op.Outcome == histories.OK || op.Key != first.Key || op.Call > s.until {
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
	}{{idle, "operation", " until then without a part in it"}, {later, "operation", " later"}, {s.hidden, "fault", ""}} {
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
