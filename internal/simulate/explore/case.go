// Package explore searches, in virtual time, for plans of faults under which a lock violates a property, and minimises
// what it finds. A lock and a seed go in; out come a Case, which is all that a trial depends on, and what was recorded
// and judged of it. A case can be kept in a file, run again and tried on real servers.
package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/counterexample"
	"lockbench/internal/simulate/sim"
	"lockbench/workloads"
)

// Case is all that a trial depends on.
type Case struct {
	Lock       string            `json:"lock"`
	Deployment string            `json:"deployment"`
	Workload   string            `json:"workload"`
	Params     workloads.Params  `json:"params"`
	LockParams map[string]string `json:"lock_params,omitempty"`
	Plan       faults.Plan       `json:"plan"`
}

// Fault is the name of an explored plan in its history.
const Fault = "explored"

// Run is a case that was run and judged.
type Run struct {
	Case
	sim.Recorded
	Ops     []histories.Op // in the order of their calls
	Verdict *checker.Verdict
	Digest  string // of all that was recorded
}

// Trial returns the case as a trial.
func (c Case) Trial() (sim.Trial, error) {
	lock, err := lockNamed(c.Lock)
	if err != nil {
		return sim.Trial{}, err
	}
	load, err := named("workload", workloads.All(), c.Workload, func(w workloads.Workload) string { return w.Name })
	if err != nil {
		return sim.Trial{}, err
	}
	t := sim.Trial{Lock: lock, Deployment: c.Deployment, Workload: load, Params: c.Params, LockParams: c.LockParams,
		Fault: Fault, Plan: c.Plan}
	t.Expectations = expectations(t)
	return t, t.Refused()
}

// locks is the table of locks, made once: a search asks for one each time.
var locks = sync.OnceValue(catalog.All)

func lockNamed(name string) (impls.Impl, error) {
	return named("lock", locks(), name, func(l impls.Impl) string { return l.Name })
}

// Unknown is the error of a name that is in no table.
type Unknown struct {
	What, Name string
	Known      []string
}

func (u *Unknown) Error() string { return fmt.Sprintf("unknown %s %q", u.What, u.Name) }

func named[T any](what string, table []T, name string, nameOf func(T) string) (T, error) {
	var known []string
	for _, row := range table {
		if nameOf(row) == name {
			return row, nil
		}
		known = append(known, nameOf(row))
	}
	var none T
	return none, &Unknown{what, name, known}
}

// Run runs the case in virtual time and judges what was recorded. The same case gives the same, where one processor
// is used (GOMAXPROCS=1).
func (c Case) Run() (*Run, error) {
	t, err := c.Trial()
	if err != nil {
		return nil, err
	}
	r := &Run{Case: c}
	if r.Recorded, err = t.Record(); err != nil {
		return nil, err
	}
	if r.Digest, err = r.Memory.Digest(); err != nil {
		return nil, err
	}
	return r, r.read()
}

// read judges what was recorded, without the oracle: see Rejudge.
func (r *Run) read() (err error) {
	if r.Verdict, err = judge.History(r.Header, r.Source(), judge.Options{NoOracle: true}); err != nil {
		return err
	}
	type call struct {
		client int32
		kind   histories.Kind
		at     time.Duration
	}
	open := map[call]histories.Op{} // by the last mark
	for _, line := range r.Lines {
		c := call{line.Op.Client, line.Op.Kind, line.Op.Call}
		switch {
		case line.Mark:
		case line.Op.Open():
			open[c] = line.Op
		default:
			delete(open, c)
			r.Ops = append(r.Ops, line.Op)
		}
	}
	r.Ops = slices.AppendSeq(r.Ops, maps.Values(open))
	slices.SortFunc(r.Ops, func(a, b histories.Op) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Kind, b.Kind))
	})
	return nil
}

// observed returns the properties with a finding, in the order of the judge's table.
func (r *Run) observed(o checker.Observed) []string {
	var names []string
	for _, f := range r.Verdict.Findings {
		if f.Observed == o {
			names = append(names, f.Property)
		}
	}
	return names
}

// Violated returns the properties that were violated, except those of which a trial under this plan says nothing.
func (r *Run) Violated() []string {
	return slices.DeleteFunc(r.observed(checker.Violated), func(name string) bool { return !decides(r.Plan, name) })
}

// Example returns the counterexample to a property.
func (r *Run) Example(property string) *counterexample.Example {
	return counterexample.New(counterexample.Trial{Deployment: r.Deployment, Params: r.Params, Strikes: r.Strikes, Ops: r.Ops, Verdict: r.Verdict}, property)
}
