// Package explore searches in virtual time for fault plans under which a lock violates a property, and minimises the
// violations to counterexamples. Run takes a Campaign of locks and seeds, and returns a Result. A Case holds everything
// that a trial depends on: it can be written to a file, replayed, and run on real servers.
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

// Case holds all inputs of a simulated trial: the lock, the deployment, the workload, the parameters (with the seed) and the
// fault plan.
type Case struct {
	Lock       string            `json:"lock"`
	Deployment string            `json:"deployment"`
	Workload   string            `json:"workload"`
	Params     workloads.Params  `json:"params"`
	LockParams map[string]string `json:"lock_params,omitempty"`
	Plan       faults.Plan       `json:"plan"`
}

// Fault is the fault name in the histories of trials whose fault plan explore chose.
const Fault = "explored"

// Run holds a case with its recorded history and verdict.
type Run struct {
	Case
	sim.Recorded
	Ops     []histories.Op // in the order of call time
	Verdict *checker.Verdict
	Digest  string // digest of the recorded history
}

// Trial returns the simulated trial that the case describes, or an error if the trial cannot be simulated.
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

// locks caches the table of locks, because each trial looks up a lock.
var locks = sync.OnceValue(catalog.All)

// registered holds the locks that Register added.
var registered struct {
	sync.Mutex
	locks []impls.Impl
}

// Register adds a lock to the table of locks, so that cases can name it. The processes of a Pool must call it too.
func Register(l impls.Impl) {
	registered.Lock()
	defer registered.Unlock()
	registered.locks = append(registered.locks, l)
}

func lockNamed(name string) (impls.Impl, error) {
	registered.Lock()
	all := slices.Concat(registered.locks, locks())
	registered.Unlock()
	return named("lock", all, name, func(l impls.Impl) string { return l.Name })
}

// Unknown is the error for an unknown name. It lists the known names.
type Unknown struct {
	What, Name string
	Known      []string
}

// Error returns the message without the list of valid names, which is in the field Known.
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

// Run runs the case in virtual time and judges the recorded history. With GOMAXPROCS=1 the same case records the same
// history.
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

// read judges the recorded history without the independent second check (the oracle), and collects its operations.
func (r *Run) read() (err error) {
	if r.Verdict, err = judge.History(r.Header, r.Source(), judge.Options{NoOracle: true}); err != nil {
		return err
	}
	r.Ops = Operations(r.Lines)
	return nil
}

// Operations returns the operations of a recorded history, in the order of call time.
func Operations(lines []histories.Line) (all []histories.Op) {
	type call struct {
		client int32
		kind   histories.Kind
		at     time.Duration
	}
	open := map[call]histories.Op{} // operations whose return has not been read yet
	for _, line := range lines {
		c := call{line.Op.Client, line.Op.Kind, line.Op.Call}
		switch {
		case line.Mark:
		case line.Op.Open():
			open[c] = line.Op
		default:
			delete(open, c)
			all = append(all, line.Op)
		}
	}
	all = slices.AppendSeq(all, maps.Values(open))
	slices.SortFunc(all, func(a, b histories.Op) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// observed returns the names of the properties with the given verdict, such as violated. They are in the order of the
// findings in r.Verdict.
func (r *Run) observed(o checker.Observed) []string {
	var names []string
	for _, f := range r.Verdict.Findings {
		if f.Observed == o {
			names = append(names, f.Property)
		}
	}
	return names
}

// Violated returns the violated properties. It omits properties that a trial under the fault plan cannot decide.
func (r *Run) Violated() []string {
	return slices.DeleteFunc(r.observed(checker.Violated), func(name string) bool { return !decides(r.Plan, name) })
}

// Example returns an event list and a timeline that show how the run violates the given property.
func (r *Run) Example(property string) *counterexample.Example {
	return counterexample.New(counterexample.Trial{Deployment: r.Deployment, Params: r.Params, Strikes: r.Strikes, Ops: r.Ops, Verdict: r.Verdict}, property)
}
