package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/run"
	"lockbench/workloads"
)

func (f *flags) cells(ctx context.Context) ([]trial.Cell, error) {
	if len(f.scenarios) > 0 {
		return f.scenarioCells()
	}
	locks, err := f.chosenLocks(ctx)
	if err != nil {
		return nil, err
	}
	if slices.Contains(f.faults, expectedFaults) {
		return f.statedPlan(locks)
	}
	injected := []faults.Fault{faults.None()}
	if len(f.faults) > 0 {
		if injected, err = choice.Faults.Choose(f.faults...); err != nil {
			return nil, err
		}
	}
	wanted := f.workloads
	faulty := slices.ContainsFunc(injected, func(f faults.Fault) bool { return f.Kind != faults.Nothing })
	if faulty && len(wanted) == 0 {
		wanted = []string{"counter"} // this workload detects violations of lease-exclusion, mutual-exclusion and resource-integrity
	}
	loads, err := choice.Workloads.Choose(wanted...)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		loads = slices.DeleteFunc(loads, func(w workloads.Workload) bool { return w.Varied || w.Figures && !f.thorough })
	}
	var plan []trial.Cell
	add := func(locks []impls.Impl, on string) { plan = append(plan, f.plannedOn(on, locks, loads, injected)...) }
	add(locks, "") // "" selects the usual deployment of each lock
	for _, name := range f.locks {
		if !isPlaced(name) {
			continue
		}
		lock, on, err := placedLock(name)
		if err != nil {
			return nil, err
		}
		add([]impls.Impl{lock}, on)
	}
	var skipped []string
	if len(f.faults) > 0 {
		skipped = inapplicableFaults(locks, injected)
		f.notes = append(f.notes, skipped...)
	}
	if len(plan) == 0 {
		return nil, emptyPlanError(skipped, "none of the workloads and faults applies to any of the locks",
			"reentrant applies to locks that grant again to their owner, kill-between to those that acquire in two commands, flash-sale to those of the table, without faults")
	}
	return plan, nil
}

// expectedFaults is the value of --faults that selects, for each lock, the faults under which its author expects something.
const expectedFaults = "expected"

// statedPlan returns the cells of --faults expected, for the locks on their deployments and for those that are named with one.
func (f *flags) statedPlan(locks []impls.Impl) ([]trial.Cell, error) {
	if len(f.faults) > 1 {
		return nil, console.Usage(errors.New("--faults expected already names all faults with an expectation"), "leave out the other faults")
	}
	plan, err := f.statedCells(locks, "")
	for _, name := range slices.DeleteFunc(slices.Clone(f.locks), func(name string) bool { return !isPlaced(name) }) {
		lock, on, err := placedLock(name)
		if err != nil {
			return nil, err
		}
		more, err := f.statedCells([]impls.Impl{lock}, on)
		if err != nil {
			return nil, err
		}
		plan = append(plan, more...)
	}
	if err == nil && len(plan) == 0 {
		err = emptyPlanError(nil, "none of the locks has an expectation under a fault in these workloads", "docs/reference/expectations.md has the expectations")
	}
	return plan, err
}

// statedCells returns a cell for each combination of workload, fault and deployment for which a lock states an expectation under a fault. If
// on is not "", all cells have that deployment. The negative control runs without a fault.
func (f *flags) statedCells(locks []impls.Impl, on string) (plan []trial.Cell, err error) {
	seen := map[string]bool{}
	for _, l := range locks {
		of := l.Expect
		if l.Store == "" {
			of = []impls.Expectation{{Fault: faults.None().Name}}
		}
		for _, e := range of {
			if l.Store != "" && e.Fault == faults.None().Name || len(f.workloads) > 0 && !slices.Contains(f.workloads, cmp.Or(e.Workload, "counter")) {
				continue
			}
			load, err1 := choice.Workloads.Choose(cmp.Or(e.Workload, "counter"))
			fault, err2 := choice.Faults.Choose(e.Fault)
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
			if on != "" && e.Deployment != "" && e.Deployment != on {
				continue
			}
			for _, c := range trial.On(cmp.Or(on, e.Deployment), trial.Plan([]impls.Impl{l}, load, fault)) {
				if !seen[c.Dir()] {
					plan, seen[c.Dir()] = append(plan, c), true
				}
			}
		}
	}
	return plan, nil
}

// emptyPlanError returns the error for an empty plan. If the plan is empty because faults were skipped, the error states the
// reasons for skipping them. Otherwise it states the parameters why and hint.
func emptyPlanError(skipped []string, why, hint string) error {
	if len(skipped) > 0 {
		why, hint = strings.Join(skipped, "; "), "lockbench list faults describes the faults, and lockbench list locks the locks"
	}
	return console.Usage(errors.New("nothing to do: "+why), hint)
}

// plannedOn returns the planned cells (combinations of lock, workload and fault) of the given locks on one deployment. If the
// deployment (parameter on) is "", each lock runs on its usual deployment.
func (f *flags) plannedOn(on string, locks []impls.Impl, loads []workloads.Workload, injected []faults.Fault) []trial.Cell {
	of := trial.Plan(locks, loads, injected)
	if len(f.locks) == 0 || len(f.workloads) == 0 {
		of = trial.Usual(of)
	}
	if f.worker.Command != "" { // omit the shop workloads: a worker cannot run them, and results of the negative control alone are useless
		of = slices.DeleteFunc(of, func(c trial.Cell) bool { return c.Workload.Served })
	}
	if len(f.workloads)+len(f.faults) == 0 {
		of = append(of, trial.Kills(locks)...)
	}
	return trial.On(on, of)
}

func missingStores(plan []trial.Cell, on choice.Servers) []string {
	return slices.DeleteFunc(storesOf(plan), func(store string) bool {
		return !errors.As(stores.Supported(servers.Spec{How: on.How, Store: store, Remote: on.Remote}), new(servers.Absent))
	})
}

func storesOf(plan []trial.Cell) (names []string) {
	for _, c := range plan {
		if s := c.Lock.Store; s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}

// chosenLocks returns the locks to run on their usual deployments. The negative control is included unless the user
// excluded it. The lock of the user's worker is included if there is one.
func (f *flags) chosenLocks(ctx context.Context) (locks []impls.Impl, err error) {
	wanted := slices.DeleteFunc(slices.Clone(f.locks), isPlaced)
	switch {
	case f.worker.Command != "":
		wanted = []string{"none"}
	case len(f.locks) > 0 && !f.noControls:
		wanted = append(wanted, "none")
	case len(f.locks) > 0 && len(wanted) == 0:
		return nil, nil
	}
	if len(wanted) == 0 {
		locks = catalog.Own()
	} else if locks, err = choice.Locks.Choose(wanted...); err != nil {
		return nil, err
	}
	if f.noControls && len(f.locks) == 0 {
		locks = slices.DeleteFunc(locks, func(l impls.Impl) bool { return l.Name == "none" })
	}
	if f.worker.Command == "" {
		return locks, nil
	}
	own, err := f.describeWorker(ctx)
	return append(locks, own), err
}

// isPlaced reports whether a name has the form lock@deployment. It returns false for a URL. The text before the @ of a URL may
// be a password, which must not be printed.
func isPlaced(name string) bool { return strings.Contains(name, "@") && !strings.Contains(name, "://") }

// placedLock returns the lock and the deployment of a name of the form lock@deployment.
func placedLock(name string) (lock impls.Impl, on string, err error) {
	name, on, _ = strings.Cut(name, "@")
	if lock, err = choice.Locks.One(name); err == nil {
		err = choice.Deployed(lock, on)
	}
	return lock, on, err
}

func (f *flags) scenarioCells() (cells []trial.Cell, err error) {
	wanted := f.scenarios
	if slices.Contains(wanted, "all") {
		wanted = nil
	}
	chosen, err := choice.Scenarios.Choose(wanted...)
	if err != nil {
		return nil, err
	}
	for _, s := range chosen {
		of, err := s.Cells()
		if err != nil {
			return nil, err
		}
		cells = append(cells, of...)
		f.scenarioDocs = append(f.scenarioDocs, run.Scenario{Name: s.Name, Warning: s.Warning, Doc: s.Doc})
	}
	return cells, nil
}
