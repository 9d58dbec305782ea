package counterexample

import (
	"fmt"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/workloads"
)

// fault is something that went wrong.
type fault struct {
	inject.Strike
	passing string // the command or reply that triggered it
}

// lasts reports whether the plan says when a fault ends.
func (f *fault) lasts() bool { return f.For > 0 || f.Until != (workloads.Moment{}) }

// instant is how far apart the records of one instant of the virtual clock can be.
const instant = time.Microsecond

func (x *Example) faultsOf() []*fault {
	var all []*fault
	for _, s := range x.Strikes {
		f := &fault{Strike: s}
		if s.Do.Verb == faults.Stall && s.To == histories.StillOpen {
			f.To = s.From + s.Do.By
		}
		x.trigger(f)
		all = append(all, f)
	}
	return all
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
		if op.Call > f.From && op.Call <= f.From+instant {
			f.From = op.Call
		}
		if op.Call <= f.From && (op.Open() || f.From <= op.Return) {
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
