package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/reports/format"
	"lockbench/reports/matrix"
	report "lockbench/reports/run"
	"lockbench/workloads"
)

// VerifyCommand returns the command verify.
func VerifyCommand() *cobra.Command {
	f := flags{params: workloads.Defaults()}
	var file string
	cmd := &cobra.Command{
		Use:   "verify --worker COMMAND [--expectations FILE]",
		Short: "Check your own lock against what it is expected to do, in CI",
		Long: `verify runs your own lock, a program in any language (docs/your-own-lock.md), and compares the
results with its expectations. Without a file these are the default ones of any lock with its
capabilities (docs/reference/expectations.md), in the workloads and under the faults that can
violate them. A file names the workloads and faults to run, and overrides the defaults.

  lockbench verify --worker 'python3 worker.py'
  lockbench verify --worker 'python3 worker.py' --expectations expectations.json

Exit codes: 0 every expectation met; 1 a property is violated that was expected to hold; 2 wrong
usage; 3 a result is inconclusive or not applicable; 4 a server or the worker does not work; 6 a
violation was expected and not detected; 130 interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, stated, err := f.verify(cmd, file)
			if err != nil {
				return err
			}
			return errors.Join(r.run(cmd.Context()), r.badge(), r.inapplicable(stated))
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&file, "expectations", "", "file of expectations (the default ones)")
	fl.StringSliceVar(&f.workloads, "workloads", nil, "workloads to run (those with an expectation)")
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (those with an expectation)")
	f.defineShared(fl)
	return cmd
}

// verify returns a Runner for the workloads and faults for which the worker's lock has expectations. It also returns the
// expectations stated in the file. It does not start any trial.
func (f *flags) verify(cmd *cobra.Command, file string) (*Runner, []impls.Expectation, error) {
	if !f.worker.Given() {
		return nil, nil, console.Usage(errors.New("verify needs --worker or --library"), "lockbench verify --worker 'python3 worker.py'")
	}
	var said expected
	if file != "" {
		var err error
		if said, err = readExpectations(file); err != nil {
			return nil, nil, err
		}
		f.lockParams = said.Params
	}
	if err := f.check(cmd); err != nil {
		return nil, nil, err
	}
	own, err := f.describeWorker(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	plan, stated, err := f.verified(&own, said, file)
	if err != nil {
		return nil, nil, err
	}
	f.name = "verify"
	r := &Runner{flags: f}
	var left []string
	if r.cells, left = trial.Fitting(plan, f.servers.How, f.servers.Remote); len(left) > 0 && file != "" {
		return nil, nil, console.Environment(fmt.Errorf("some expectations cannot be checked here: %s", strings.Join(left, "; ")), "lockbench verify --help says where the lock can run")
	}
	r.notes = append(f.notes, left...)
	return r, stated, r.begin(cmd)
}

// verified returns the cells (lock, workload and fault) to run, and the expectations stated in the expectations file, if any.
// The stated expectations override those of the lock.
func (f *flags) verified(own *impls.Impl, said expected, file string) (plan []trial.Cell, stated []impls.Expectation, err error) {
	if file == "" {
		plan, err = f.expectedCells(*own)
		return plan, nil, err
	}
	if own.Name != said.Lock {
		return nil, nil, console.Usage(fmt.Errorf("%s is about the lock %q, and the worker is named %q", file, said.Lock, own.Name), "the two must be the same")
	}
	if stated, err = expectations(said.Expectations); err != nil {
		return nil, nil, err
	}
	if own.Expect = expect.Override(own.Expect, stated); f.worker.Observe {
		own.Expect = nil
	}
	if _, _, err = f.chosenPairs(); err != nil {
		return nil, nil, err
	}
	if plan, err = said.cells(*own); err != nil {
		return nil, nil, err
	}
	plan = slices.DeleteFunc(plan, func(c trial.Cell) bool {
		return len(f.workloads) > 0 && !slices.Contains(f.workloads, c.Workload.Name) || len(f.faults) > 0 && !slices.Contains(f.faults, c.Fault.Name)
	})
	if len(plan) == 0 {
		err = console.Usage(fmt.Errorf("nothing to verify: %s states no expectation for these workloads and faults", file), "leave out --workloads or --faults")
	}
	return plan, stated, err
}

// expectedCells returns the combinations of workload and fault for which the lock has expectations. With --workloads,
// --faults or --observe, it also returns combinations without an expectation.
func (f *flags) expectedCells(own impls.Impl) ([]trial.Cell, error) {
	loads, injected, err := f.chosenPairs()
	if err != nil {
		return nil, err
	}
	plan := slices.DeleteFunc(trial.Plan([]impls.Impl{own}, loads, injected), func(c trial.Cell) bool {
		if ordinary := !c.Workload.Special && !c.Workload.Reentrant || c.Fault.Kind != faults.Nothing; ordinary && len(f.workloads) == 0 && c.Workload.Name != "counter" {
			return true // omit this workload: it would check the same properties as the workload "counter"
		}
		at := impls.Situation{Workload: c.Workload.Name, Special: c.Workload.Special, Fault: c.Fault.Name, Deployment: c.On(), Processes: 3}
		named := len(f.workloads)+len(f.faults) > 0
		return !named && !f.worker.Observe && !slices.ContainsFunc(own.Expected(at), func(e impls.Expectation) bool { return e.Expected != histories.Unspecified })
	})
	skipped := inapplicableFaults([]impls.Impl{own}, injected)
	f.notes = append(f.notes, skipped...)
	if len(plan) == 0 {
		return nil, emptyPlanError(skipped, "none of the workloads and faults applies to this lock", hintCapability)
	}
	return plan, nil
}

// chosenPairs returns the workloads and faults that the flags name. By default, it returns the faults with default
// expectations, and all workloads that are not marked as Varied.
func (f *flags) chosenPairs() ([]workloads.Workload, []faults.Fault, error) {
	names := f.faults
	if len(names) == 0 {
		names = expect.Faults()
	}
	loads, err1 := choice.Workloads.Choose(f.workloads...)
	injected, err2 := choice.Faults.Choose(names...)
	if len(f.workloads) == 0 {
		loads = slices.DeleteFunc(loads, func(w workloads.Workload) bool { return w.Varied })
	}
	return loads, injected, errors.Join(err1, err2)
}

const hintCapability = "its worker may lack a capability: reentrant, watchdog or fencing; misuse and long-hold go without faults"

// inapplicableFaults returns a note for each fault that does not apply to some of the locks, with the reason.
func inapplicableFaults(locks []impls.Impl, injected []faults.Fault) (notes []string) {
	for _, fault := range injected {
		reasons := map[string][]string{}
		var order []string
		for _, l := range locks {
			why := fault.NotFor(l)
			switch {
			case l.Store == "" && l.Control: // the negative control runs without the fault, so no note is needed
				continue
			case l.Store == "" && fault.Kind != faults.Nothing:
				why = "it uses no server"
			}
			if why == "" {
				continue
			}
			if reasons[why] == nil {
				order = append(order, why)
			}
			reasons[why] = append(reasons[why], l.Name)
		}
		for _, why := range order {
			notes = append(notes, fmt.Sprintf("%s is skipped for %s: %s", fault.Name, format.Few(reasons[why], ", "), why))
		}
	}
	return notes
}

// cells returns the cells that check the expectations. Each pair of workload and fault occurs once.
func (c expected) cells(of impls.Impl) ([]trial.Cell, error) {
	var cells []trial.Cell
	for i, one := range c.Expectations {
		if slices.ContainsFunc(c.Expectations[:i], func(o worker.Expectation) bool { return o.Workload == one.Workload && o.Fault == one.Fault }) {
			continue
		}
		loads, err1 := choice.Workloads.Choose(one.Workload)
		fault, err2 := choice.Faults.Choose(one.Fault)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		plan := trial.Plan([]impls.Impl{of}, loads, fault)
		if len(plan) == 0 {
			return nil, console.Usage(fmt.Errorf("%s is expected in the workload %s under %s, which does not apply to this lock", one.Property, one.Workload, one.Fault), hintCapability)
		}
		cells = append(cells, plan...)
	}
	return cells, nil
}

// badge writes the badge of the lock to the result folder.
func (r *Runner) badge() error {
	if r.results == nil { // there are no results, because the method run has returned an error
		return nil
	}
	var own matrix.Result
	own.Add(r.results, "")
	t := r.results.Tally
	text, err := own.Badge(len(r.results.Gaps)+t.XPass+t.Disagreements == 0 && !r.results.Run.Interrupted)
	if err == nil {
		err = report.WriteFile(filepath.Join(r.dir, matrix.BadgeName), text)
	}
	if err != nil {
		return console.Environment(err, "choose another folder with --out")
	}
	return nil
}

// inapplicable returns an error if a property with an expectation in the file was not applicable. Such an expectation
// was not checked, so it has not passed.
func (r *Runner) inapplicable(stated []impls.Expectation) error {
	found := console.Codes{}
	if r.results == nil { // there are no results, because the method run has returned an error
		return nil
	}
	for _, o := range r.results.Cells {
		in := slices.ContainsFunc(stated, func(e impls.Expectation) bool {
			return e.Property == o.Property && e.Workload == o.Workload && e.Fault == o.Fault
		})
		if in && o.Expected != histories.Unspecified && o.Observed == checker.NotApplicable {
			found[console.ExitInconclusive] = true
			console.Note(r.stderr, fmt.Sprintf("not applicable: %s in %s under %s: %s", o.Property, o.Workload, o.Fault, o.Why))
		}
	}
	return found.Err()
}
