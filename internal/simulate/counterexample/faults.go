package counterexample

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// fault is a step of the plan that came about, as it was recorded.
type fault struct {
	faults.Step
	from, to time.Duration // to is histories.StillOpen if it did not end
	clients  []int32       // that it befell; none: a server or the network of all
	passing  string        // the command or reply that triggered it
}

func (f *fault) open() bool { return f.to == histories.StillOpen }

// lasts reports whether the plan says when a step ends.
func (f *fault) lasts() bool { return f.For > 0 || f.Until != (workloads.Moment{}) }

// instant is how far apart the records of one instant of the virtual clock can be.
const instant = time.Microsecond

// faultsOf finds the records of each step of the plan, in the order in which the steps came about.
func (x *Example) faultsOf() []*fault {
	rec := &records{ops: x.Ops, used: map[int]bool{}}
	var all []*fault
	for _, step := range x.Plan.Steps {
		f := &fault{Step: step, to: histories.StillOpen}
		name, came := cmp.Or(step.Name, x.Header.Fault), false
		for _, client := range x.victims(step.Do) {
			inject := rec.inject(f, name, client)
			if inject < 0 {
				continue
			}
			rec.used[inject] = true
			came, f.from = true, x.Ops[inject].Call
			if client != histories.Harness {
				f.clients = append(f.clients, client)
			}
			if heal := rec.heal(name, client, f.from, f.For); heal >= 0 && f.lasts() {
				rec.used[heal] = true
				if f.to = x.Ops[heal].Call; f.to < f.from+f.For-instant {
					f.For, f.Until = 0, workloads.Moment{Client: -1} // the trial ended before
				}
			}
		}
		if step.Do.Verb == faults.Stall && f.open() {
			f.to = f.from + step.Do.By
		}
		if came {
			x.trigger(f)
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *fault) int { return cmp.Compare(a.from, b.from) })
	return all
}

// records are the operations of a history, some of them found to be of a fault.
type records struct {
	ops  []histories.Op
	used map[int]bool
}

// inject returns the index of the record of a step's begin: the first whose end comes when the step's is due, or else
// the first; -1 if there is none.
func (r *records) inject(f *fault, name string, client int32) int {
	gone := f.Do.Verb == faults.Kill || f.Do.Verb == faults.Abandon
	first := -1
	for i := range r.ops {
		op := &r.ops[i]
		if r.used[i] || op.Kind != histories.Inject || op.Fault != name || op.Client != client || op.EndsClient() != gone {
			continue
		}
		if end := r.heal(name, client, op.Call, f.For); f.For == 0 || end >= 0 && punctual(r.ops[end].Call, op.Call+f.For) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// heal returns the index of the record of a fault's end: the first when it is due, or else the first; -1 if there is none.
func (r *records) heal(name string, client int32, from, lasts time.Duration) int {
	first := -1
	for i := range r.ops {
		op := &r.ops[i]
		if r.used[i] || op.Kind != histories.Heal || op.Fault != name || op.Client != client || op.Call < from {
			continue
		}
		if punctual(op.Call, from+lasts) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// punctual reports whether an end comes when it is due, as near as a paused process lets it.
func punctual(end, due time.Duration) bool { return (end - due).Abs() < time.Millisecond }

// victims returns the clients in whose name a step is recorded: the harness if it befalls no client.
func (x *Example) victims(a faults.Action) []int32 {
	switch a.Verb {
	case faults.Stall, faults.Abandon, faults.GiveUp, faults.Delay, faults.Lose:
		return []int32{a.Client}
	case faults.Pause, faults.Kill, faults.Cut:
		var all []int32
		for c := range x.Header.Clients {
			if c%max(x.Header.Processes, 1) == a.Process {
				all = append(all, int32(c))
			}
		}
		return all
	}
	return []int32{histories.Harness}
}

// trigger finds out what triggered a fault: the command of an operation, which is recorded as called some ns later.
func (x *Example) trigger(f *fault) {
	on := f.When.On
	if on == nil {
		return
	}
	var under []*histories.Op
	for i := range x.Ops {
		op := &x.Ops[i]
		if op.Kind != histories.Acquire && op.Kind != histories.Release || int(op.Client)%max(x.Params.Processes, 1) != on.Process || x.fresh(op) {
			continue
		}
		if op.Call > f.from && op.Call <= f.from+instant {
			f.from = op.Call
		}
		if op.Call <= f.from && (op.Open() || f.from <= op.Return) {
			under = append(under, op)
		}
	}
	f.passing = fmt.Sprintf("a command of process %d", on.Process)
	if len(under) == 1 {
		f.passing = fmt.Sprintf("client %d's %s", under[0].Client, under[0].Kind)
	}
	if len(on.Commands) == 1 {
		f.passing += " (" + on.Commands[0] + ")"
	}
	if on.Reply {
		f.passing = "the reply to " + f.passing
	}
}
