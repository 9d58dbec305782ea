package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/scenarios"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/run"
	"lockbench/workloads"
)

// checkChoice finds out what is wrong with how the cells were chosen.
func (f *runFlags) checkChoice(cmd *cobra.Command) error {
	const hint = "see lockbench run --help"
	switch {
	case f.trials < 1 || f.trials > 10_000:
		return usage(errors.New("--trials: want 1 to 10000"), hint)
	case f.jobs < 0 || f.jobs > 64:
		return usage(errors.New("--jobs: want 1 to 64, or 0 to have it chosen"), hint)
	case f.jobs > 1 && f.own.named():
		return usage(errors.New("--jobs: on servers of your own trials run one after the other, since they have the same keys"), "leave out --jobs")
	case len(f.scenarios) > 0 && len(f.locks)+len(f.workloads)+len(f.faults)+len(f.worker) > 0:
		return usage(errors.New("--scenarios brings its own locks, workloads and faults"), "leave out the others, or name locks and faults instead")
	case f.worker != "" && len(f.locks) > 0:
		return usage(errors.New("--worker takes the place of --locks"), "leave out one of the two")
	case f.worker == "" && cmd.Flags().Changed("deployment"):
		return usage(errors.New("--deployment is of the lock of --worker; each other has its own"), hint)
	}
	return nil
}

// cells are what was chosen to be tried.
func (f *runFlags) cells(ctx context.Context) ([]trial.Cell, error) {
	if len(f.scenarios) > 0 {
		return f.scenarioCells()
	}
	locks, err := f.chosenLocks(ctx)
	if err != nil {
		return nil, err
	}
	breaks, err := choose("fault", faults.All(), func(f faults.Fault) string { return f.Name }, withNone(f.faults))
	if err != nil {
		return nil, err
	}
	wanted := f.workloads
	faulty := slices.ContainsFunc(breaks, func(f faults.Fault) bool { return f.Kind != faults.Nothing })
	if faulty && len(wanted) == 0 {
		wanted = []string{"counter"} // it shows a violation as promised, as lived, and in its effect
	}
	loads, err := choose("workload", workloads.All(), func(w workloads.Workload) string { return w.Name }, wanted)
	if err != nil {
		return nil, err
	}
	elsewhere, err := f.elsewhere()
	if err != nil {
		return nil, err
	}
	var plan []trial.Cell
	for _, p := range append([]placed{{locks: locks}}, elsewhere...) {
		of := trial.Plan(p.locks, loads, breaks)
		if len(f.locks) == 0 || len(f.workloads) == 0 {
			of = trial.Usual(of)
		}
		if len(f.workloads)+len(f.faults) == 0 {
			of = append(of, trial.Kills(p.locks)...)
		}
		plan = append(plan, trial.On(p.on, of)...)
	}
	if len(plan) == 0 {
		return nil, usage(errors.New("nothing to do: none of the workloads and faults applies to any of the locks"),
			"reentrant applies to locks that grant again to their owner, kill-between to those that acquire in two commands, flash-sale to those of the table, without faults")
	}
	return plan, nil
}

// missingStores are the stores that locks of a plan talk to and that are not here.
func missingStores(plan []trial.Cell, how string, remote servers.Remote) []string {
	var missing []string
	for _, c := range plan {
		of := c.Lock.Store
		err := stores.Supported(servers.Spec{How: how, Store: of, Remote: remote})
		if of != "" && errors.As(err, new(servers.Absent)) && !slices.Contains(missing, of) {
			missing = append(missing, of)
		}
	}
	return missing
}

// withNone is none where no fault is asked for.
func withNone(names []string) []string {
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}

func (f *runFlags) chosenLocks(ctx context.Context) ([]impls.Impl, error) {
	wanted := slices.DeleteFunc(slices.Clone(f.locks), isPlaced)
	if f.worker != "" {
		wanted = []string{"none"}
	} else if len(f.locks) > 0 && !f.noControls {
		wanted = append(wanted, "none")
	} else if len(f.locks) > 0 && len(wanted) == 0 {
		return nil, nil
	}
	known := impls.All()
	if len(wanted) == 0 {
		known = impls.Own()
	}
	locks, err := choose("lock", known, func(l impls.Impl) string { return l.Name }, wanted)
	if err != nil {
		return nil, err
	}
	if f.noControls && len(f.locks) == 0 {
		locks = slices.DeleteFunc(locks, func(l impls.Impl) bool { return l.Name == "none" })
	}
	if f.worker == "" {
		return locks, nil
	}
	own, err := f.describeWorker(ctx)
	return append(locks, own), err
}

func (f *runFlags) scenarioCells() ([]trial.Cell, error) {
	chosen, err := chosenScenarios(f.scenarios)
	if err != nil {
		return nil, err
	}
	var cells []trial.Cell
	for _, s := range chosen {
		of, err := s.Cells()
		if err != nil {
			return nil, err
		}
		cells = append(cells, of...)
	}
	return cells, nil
}

func chosenScenarios(names []string) ([]scenarios.Scenario, error) {
	if slices.Contains(names, "all") {
		return scenarios.All(), nil
	}
	return choose("scenario", scenarios.All(), func(s scenarios.Scenario) string { return s.Name }, names)
}

// scenarioDocs are what a report says of scenarios.
func scenarioDocs(names []string) []run.Scenario {
	if len(names) == 0 {
		return nil
	}
	chosen, err := chosenScenarios(names)
	if err != nil {
		return nil // it was checked before
	}
	var docs []run.Scenario
	for _, s := range chosen {
		docs = append(docs, run.Scenario{Name: s.Name, Warning: s.Warning, Doc: s.Doc})
	}
	return docs
}
