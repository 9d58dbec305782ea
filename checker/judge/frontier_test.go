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

// action is an operation on a model. An indeterminate one may take effect at any time after its call, or never.
type action struct {
	kind      histories.Kind
	outcome   histories.Outcome
	who       int
	token     int64
	call, ret int64
}

const (
	expire histories.Kind = 100 + iota // an event at the earliest time at which a lease may end
	vanish                             // an event at the latest time at which a lease may end
)

// frontier checks linearizability independently of the monitors and Porcupine. It reads a history once and, at each return,
// holds all possible states of the object (just-in-time linearization, after G. Lowe, Testing for Linearizability, 2017).
// It shares only the models with Porcupine.
type frontier[S comparable] struct {
	model[S]
	open []*action // by slot; nil if the slot is free
	at   []belief[S]
	work []belief[S]
}

// belief is a possible state of the object, with the open actions that took effect in it.
type belief[S comparable] struct {
	state S
	done  uint64 // by slot
}

// linearizable reports whether a history is linearizable. The history must have at most 64 open actions at a time.
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
		} else if !f.returned(m.a) {
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

// returned keeps only the possible states in which the action has taken effect, directly or after other open actions.
func (f *frontier[S]) returned(a *action) bool {
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

// porcupine returns Porcupine's verdict on the same history.
func (m model[S]) porcupine(actions []action) bool {
	p := porcupine.Model{
		Init: func() any { return m.init },
		Step: func(state, input, _ any) (bool, any) {
			legal, next := m.step(state.(S), input.(*action))
			if a := input.(*action); !legal && a.outcome == histories.Unknown {
				return true, state // an indeterminate action that took no effect
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

// owner is a mutex that knows its owner and refuses (busy) only while it is held.
var owner = model[int]{nobody, func(holder int, a *action) (bool, int) {
	switch {
	case a.kind == histories.Release:
		return holder == a.who, nobody
	case a.outcome == histories.Refused:
		return holder != nobody, holder
	}
	return holder == nobody, a.who
}}

// fenceState is a mutex and the last token that it issued.
type fenceState struct {
	holder int
	last   int64
}

// fenced is a mutex whose tokens rise.
var fenced = model[fenceState]{fenceState{holder: nobody}, func(s fenceState, a *action) (bool, fenceState) {
	if a.kind == histories.Release {
		return s.holder == a.who, fenceState{nobody, s.last}
	}
	return s.holder == nobody && a.token > s.last, fenceState{a.who, a.token}
}}

// mint is a model of a token issuer: each token is higher than all earlier ones and is issued between the call and the
// return of its acquire.
var mint = model[int64]{0, func(last int64, a *action) (bool, int64) { return a.token > last, a.token }}

type depthState struct{ holder, depth int }

// counted is a re-entrant mutex: its owner may acquire it again and is never refused.
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
	alive  uint64 // bit set of the holds that may still be released
}

// leased is a mutex with leases. A hold excludes other clients until its release or the earliest end of its lease. It may
// be released until the latest end of its lease. A release by a client that does not hold the mutex has who < 0.
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
