package trial

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// Task is one trial of a run as data, so that another machine can run it. Names stand for the lock and the workload, which every
// machine knows, and the plan of the fault is part of the task.
type Task struct {
	Run        string              `json:"run"` // run ID, which is part of every key
	Servers    string              `json:"servers"`
	Lock       string              `json:"lock"`
	Expect     []impls.Expectation `json:"expect"` // expectations of the lock
	LockParams map[string]string   `json:"lock_params,omitempty"`
	Deployment string              `json:"deployment,omitempty"` // "": the lock uses no server
	Workload   string              `json:"workload"`
	Scenario   string              `json:"scenario,omitempty"`
	Fault      string              `json:"fault"`
	Kind       faults.Kind         `json:"kind"`
	Plan       *faults.Plan        `json:"plan,omitempty"` // nil: the fault injects nothing
	Partly     bool                `json:"partly,omitempty"`
	Params     workloads.Params    `json:"params"`
	FaultHold  time.Duration       `json:"fault_hold_ns,omitempty"`
	Number     int                 `json:"number"` // number of the trial in its cell, from 0
	Trials     int                 `json:"trials"` // number of trials of each cell; folders of repeated trials have higher numbers
}

// Task returns trial n of a cell, counted from 0.
func (s Setting) Task(c Cell, n int) Task {
	s.Params.Seed += uint64(n) // set before params is called, because the duration of a fault can depend on the seed
	p := s.params(c)
	t := Task{Run: s.Run, Servers: s.Servers, Lock: c.Lock.Name, Expect: c.Lock.Expect, LockParams: s.lockParams(c), Deployment: c.On(),
		Workload: c.Workload.Name, Scenario: c.Scenario, Fault: c.Fault.Name, Kind: c.Fault.Kind, Partly: c.Partly,
		Params: p, FaultHold: s.FaultHold, Number: n, Trials: s.Trials}
	if c.faulty() {
		plan := c.Fault.Plan(scene(c, p))
		t.Plan = &plan
	}
	return t
}

func scene(c Cell, p workloads.Params) faults.Scene {
	return faults.Scene{TTL: p.TTL, Deployment: c.On(), Processes: p.Processes, Seed: p.Seed}
}

// cell returns the cell of the task, for a lock with the task's name.
func (t Task) cell(lock impls.Impl) (Cell, error) {
	all := workloads.All()
	i := slices.IndexFunc(all, func(w workloads.Workload) bool { return w.Name == t.Workload })
	if i < 0 || lock.Name != t.Lock {
		return Cell{}, fmt.Errorf("there is no workload %q, or %s is not the lock %q", t.Workload, lock.Name, t.Lock)
	}
	lock.Expect = t.Expect
	c := Cell{Lock: lock, Deployment: t.Deployment, Workload: all[i], Scenario: t.Scenario, Partly: t.Partly, Fault: faults.Fault{Name: t.Fault, Kind: t.Kind}}
	if t.Plan != nil {
		c.Fault.Plan = func(faults.Scene) faults.Plan { return *t.Plan }
	}
	return c, nil
}

// TryTask is like Try for a trial that is described by a task, with the lock that the task names. Of the setting it uses only what
// belongs to this machine: the program, the addresses of external servers, and Lend.
func (s Setting) TryTask(ctx context.Context, t Task, lock impls.Impl, dir string, granted *atomic.Int64) (Outcome, error) {
	c, err := t.cell(lock)
	if err != nil {
		return Outcome{}, err
	}
	s.Run, s.Servers, s.Params, s.LockParams, s.FaultHold, s.Trials = t.Run, t.Servers, t.Params, t.LockParams, t.FaultHold, t.Trials
	return s.attempt(ctx, c, dir, t.Number, granted)
}
