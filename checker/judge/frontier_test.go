package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockbench/histories"
)

// model is a sequential object. A step reports whether an action is legal, and returns the next state.
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
	expire histories.Kind = 100 + iota // the earliest end of a lease
	vanish                             // the latest end of a lease
)

// frontier is the third judge: it reads a history once and holds, at each return, all possible states of the object
// (just-in-time linearization, after G. Lowe, Testing for Linearizability, 2017). It shares only the models with Porcupine.
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

// linearizable searches a history with at most 64 open actions at a time.
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

// returned selects the beliefs in which the action took effect, by itself or after other open actions.
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
				return true, state // it took no effect
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

// mint issues rising tokens, each between the sending of its attempt and its answer.
var mint = model[int64]{0, func(last int64, a *action) (bool, int64) { return a.token > last, a.token }}

type depthState struct{ holder, depth int }

// counted is a mutex that its owner may acquire again, and is never refused.
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
	alive  uint64 // holds that may still be released
}

// leased is a mutex with leases: a hold excludes others until its release or the end of its promise, and may be released
// until the last time at which the promise may end. A release by a client that does not hold has who < 0.
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
