package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockbench/histories"
)

// model is a sequential specification of an object. step reports whether an action is legal in a state, and returns the
// next state.
type model[S comparable] struct {
	init S
	step func(S, *action) (bool, S)
}

// action is an operation on a model. If the outcome is unknown, the action may take effect at any time after its call,
// or never.
type action struct {
	kind      histories.Kind
	outcome   histories.Outcome
	who       int
	token     int64
	call, ret int64
}

const (
	expire histories.Kind = 100 + iota // the earliest time at which the lease may end
	vanish                             // the latest time at which the lease may end
)

// frontier checks linearizability independently of the judge and of Porcupine. It tracks all possible states of the
// object while it reads a history once.
//
// The algorithm is just-in-time linearization, after G. Lowe, Testing for Linearizability, 2017.
type frontier[S comparable] struct {
	model[S]
	open []*action // actions that have not returned, by slot; nil for a free slot
	at   []belief[S]
	work []belief[S]
}

// belief describes one possible order of the actions up to a point in the history. It consists of the resulting state
// of the object, and the actions that have taken effect but have not returned.
type belief[S comparable] struct {
	state S
	done  uint64 // bit set of the slots whose actions have taken effect
}

// linearizable reports whether the actions are linearizable. At most 64 actions may overlap at any time.
func (m model[S]) linearizable(actions []action) bool {
	f := frontier[S]{model: m, at: []belief[S]{{state: m.init}}}
	type moment struct {
		at  int64
		ret bool
		a   *action
	}
	var moments []moment
	for i := range actions {
		a := &actions[i]
		moments = append(moments, moment{a.call, false, a})
		if a.outcome != histories.Unknown {
			moments = append(moments, moment{a.ret, true, a})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		if a.at == b.at && a.ret != b.ret {
			if b.ret {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	for _, m := range moments {
		if !m.ret {
			f.called(m.a)
		} else if !f.handleReturn(m.a) {
			return false
		}
	}
	return true
}

func (f *frontier[S]) called(a *action) {
	if i := slices.Index(f.open, nil); i >= 0 {
		f.open[i] = a
		return
	}
	f.open = append(f.open, a)
}

// handleReturn handles the return of an action. It keeps only those states in which the action can have taken
// effect, and reports whether any state remains.
func (f *frontier[S]) handleReturn(a *action) bool {
	slot := slices.Index(f.open, a)
	f.work = append(f.work[:0], f.at...)
	f.at = f.at[:0]
	for i := 0; i < len(f.work); i++ {
		b := f.work[i]
		if b.done>>slot&1 == 1 {
			if b.done &^= 1 << slot; !slices.Contains(f.at, b) {
				f.at = append(f.at, b)
			}
			continue
		}
		for j, o := range f.open {
			if o == nil || b.done>>j&1 == 1 {
				continue
			}
			legal, state := f.step(b.state, o)
			if !legal || o.outcome == histories.Unknown && state == b.state {
				continue
			}
			if next := (belief[S]{state, b.done | 1<<j}); !slices.Contains(f.work, next) {
				f.work = append(f.work, next)
			}
		}
	}
	f.open[slot] = nil
	return len(f.at) > 0
}

// porcupine reports whether Porcupine finds the actions linearizable.
func (m model[S]) porcupine(actions []action) bool {
	p := porcupine.Model{
		Init: func() any { return m.init },
		Step: func(state, input, _ any) (bool, any) {
			legal, next := m.step(state.(S), input.(*action))
			if a := input.(*action); !legal && a.outcome == histories.Unknown {
				return true, state // an action with an unknown outcome may have had no effect
			}
			return legal, next
		},
	}
	ops := make([]porcupine.Operation, len(actions))
	for i := range actions {
		a := &actions[i]
		ops[i] = porcupine.Operation{ClientId: i, Input: a, Call: a.call, Return: a.ret}
		if a.outcome == histories.Unknown {
			ops[i].Return = math.MaxInt64
		}
	}
	return porcupine.CheckOperations(p, ops)
}

const nobody = -1

// owner models a mutex: only its holder can release it, and an acquire is refused only while it is held.
var owner = model[int]{nobody, func(holder int, a *action) (bool, int) {
	switch {
	case a.kind == histories.Release:
		return holder == a.who, nobody
	case a.outcome == histories.Refused:
		return holder != nobody, holder
	}
	return holder == nobody, a.who
}}

// fenceState is the state of a mutex that issues fencing tokens: its holder and the last token.
type fenceState struct {
	holder int
	last   int64
}

// fenced models a mutex whose fencing tokens increase with each grant.
var fenced = model[fenceState]{fenceState{holder: nobody}, func(s fenceState, a *action) (bool, fenceState) {
	if a.kind == histories.Release {
		return s.holder == a.who, fenceState{nobody, s.last}
	}
	return s.holder == nobody && a.token > s.last, fenceState{a.who, a.token}
}}

// mint models a counter of fencing tokens: each new token is higher than all earlier tokens.
var mint = model[int64]{0, func(last int64, a *action) (bool, int64) { return a.token > last, a.token }}

type depthState struct{ holder, depth int }

// counted models a re-entrant mutex. An acquire is refused only while another client holds the mutex.
var counted = model[depthState]{depthState{holder: nobody}, func(s depthState, a *action) (bool, depthState) {
	switch {
	case a.kind == histories.Release && s.depth == 1:
		return s.holder == a.who, depthState{holder: nobody}
	case a.kind == histories.Release:
		return s.holder == a.who, depthState{s.holder, s.depth - 1}
	case a.outcome == histories.Refused:
		return s.holder != nobody && s.holder != a.who, s
	}
	return s.holder == nobody || s.holder == a.who, depthState{a.who, s.depth + 1}
}}

type leaseState struct {
	holder int
	alive  uint64 // bit set of holds that can still be released
}

// leased models a mutex with leases. A hold excludes other clients until its release or the earliest end of its lease.
// The hold can be released until the latest end of its lease.
//
// The field who of an action is the number of a hold. It is negative for a release by a client that does not hold the
// mutex.
var leased = model[leaseState]{leaseState{holder: nobody}, func(s leaseState, a *action) (bool, leaseState) {
	next := s
	if a.who >= 0 && s.holder == a.who {
		next.holder = nobody
	}
	switch a.kind {
	case histories.Acquire:
		return s.holder == nobody, leaseState{a.who, s.alive | 1<<a.who}
	case expire:
		return true, next
	case vanish:
		s.alive &^= 1 << a.who
		return true, s
	}
	if a.outcome == histories.OK {
		if a.who < 0 || s.alive>>a.who&1 == 0 {
			return false, s
		}
		next.alive &^= 1 << a.who
	}
	return true, next
}}
