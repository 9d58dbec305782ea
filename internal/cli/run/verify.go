package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/workloads"
)

// VerifyCommand returns the command verify.
func VerifyCommand() *cobra.Command {
	f := flags{params: workloads.Defaults()}
	var file string
	cmd := &cobra.Command{
		Use:   "verify --worker COMMAND --expectations FILE",
		Short: "Check your own lock against a file of expectations, in CI",
		Long: `verify runs your own lock, a program in any language (docs/reference/worker-protocol.md), in the
workloads and under the faults that a file of expectations names, and compares the results with
it. docs/expectations.schema.json is the schema of the file; examples/ci has a file and a CI job.

  lockbench verify --worker 'python3 worker.py' --expectations expectations.json

Exit codes: 0 every expectation met; 1 a property is violated that was expected to hold; 2 wrong
usage; 3 a result is inconclusive or not applicable; 4 a server or the worker does not work; 6 a
violation was expected and not detected; 130 interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := f.verify(cmd, file)
			if err != nil {
				return err
			}
			return errors.Join(r.run(cmd.Context()), r.inapplicable())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&file, "expectations", "", "file of expectations")
	f.defineShared(fl)
	return cmd
}

// verify reads the expectations and returns a Runner for the cells that check the expectations. It does not start any trial.
func (f *flags) verify(cmd *cobra.Command, file string) (*Runner, error) {
	if f.worker == "" || file == "" {
		return nil, console.Usage(errors.New("verify needs --worker and --expectations"), "lockbench verify --worker 'python3 worker.py' --expectations expectations.json")
	}
	said, err := readExpectations(file)
	if err != nil {
		return nil, err
	}
	f.lockParams = said.Params
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	own, err := f.describeWorker(cmd.Context())
	if err != nil {
		return nil, err
	}
	if own.Name != said.Lock {
		return nil, console.Usage(fmt.Errorf("%s is about the lock %q, and the worker is named %q", file, said.Lock, own.Name), "the two must be the same")
	}
	if own.Expect, err = expectations(said.Expectations); err != nil {
		return nil, err
	}
	plan, err := said.cells(own)
	if err != nil {
		return nil, err
	}
	f.name = "chosen"
	r := &Runner{flags: f}
	var left []string
	if r.cells, left = trial.Fitting(plan, f.servers.How, f.servers.Remote); len(left) > 0 {
		return nil, console.Environment(fmt.Errorf("some expectations cannot be checked here: %s", strings.Join(left, "; ")), "lockbench verify --help says where the lock can run")
	}
	return r, r.begin(cmd)
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
			return nil, console.Usage(fmt.Errorf("%s is expected in the workload %s under %s, which does not apply to this lock", one.Property, one.Workload, one.Fault),
				"its worker may lack a capability: reentrant, watchdog or fencing; misuse and long-hold go without faults")
		}
		cells = append(cells, plan...)
	}
	return cells, nil
}

// inapplicable returns an error if an expectation could not be checked because the property was not applicable. Such an
// expectation has not passed.
func (r *Runner) inapplicable() error {
	found := console.Codes{}
	if r.results == nil { // no results: the run ended with an error
		return nil
	}
	for _, o := range r.results.Cells {
		if o.Expected != histories.Unspecified && o.Observed == checker.NotApplicable {
			found[console.ExitInconclusive] = true
			console.Note(r.stderr, fmt.Sprintf("not applicable: %s in %s under %s: %s", o.Property, o.Workload, o.Fault, o.Why))
		}
	}
	return found.Err()
}
