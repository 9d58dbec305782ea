// Package run has the verbs that drive locks: run, and verify for a lock of the user's own. Flags become cells, cells become
// trials in a folder, and a report is made of them.
package run

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/impls"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/run"
	"lockbench/workloads"
)

type flags struct {
	name                     string // of the run
	locks, workloads, faults []string
	scenarios                []string
	scenarioDocs             []run.Scenario // of those chosen, for the report
	worker, deployment       string
	trials, jobs             int
	noControls, thorough     bool
	servers                  choice.Servers
	out                      string
	asJSON, verbose          bool
	lockParams               map[string]string
	faultTTL                 time.Duration // the TTL that was asked for; 0: none was
	shop                     trial.Asked   // buyers and work that were asked for
	params                   workloads.Params
}

// Command returns the verb run.
func Command() *cobra.Command {
	f := flags{params: workloads.Defaults()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Drive locks, record, judge and report",
		Long: `run drives locks with workloads, records every operation, judges the histories and writes a report to a folder in runs/.
Without flags it compares every lock in about a minute and a half. --thorough adds the workloads whose verdicts others give
as well, and measures the figures of all.

--faults injects faults: clients run in processes of their own, each behind a proxy, and each fault is verified; if it had
no effect, the trial is discarded and repeated. --scenarios runs what lockbench list scenarios describes. --worker runs a
lock of your own, a program in any language (docs/reference/worker-protocol.md).

--redis, --mysql, --postgres, --mongodb, --zookeeper or --etcd run the locks of those stores on your own servers, and leave
out the others. Every key there begins with lockbench:<run>: and is removed after its trial; nothing else is touched, and
no password is written anywhere.

Exit codes: 0 every expectation met; 1 a property is violated that was expected to hold; 2 wrong usage; 3 a result is
inconclusive; 4 a server, a worker or the folder does not work; 6 a known defect was not detected; 130 interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := f.plan(cmd)
			if err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	f.define(cmd)
	return cmd
}

func (f *flags) define(cmd *cobra.Command) {
	fl, p := cmd.Flags(), &f.params
	fl.SortFlags = false
	fl.StringSliceVar(&f.locks, "locks", nil, "locks to run (all); lock@deployment for another deployment, such as set-px-lua@cluster")
	fl.StringSliceVar(&f.workloads, "workloads", nil, "workloads to run (all that apply)")
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (none)")
	fl.StringSliceVar(&f.scenarios, "scenarios", nil, "scenarios to run, or all: each has its own locks and faults")
	fl.BoolVar(&f.thorough, "thorough", false, "run and measure all workloads, also those that only add figures")
	fl.IntVar(&f.jobs, "jobs", 0, "concurrent trials (those whose figures are compared one at a time, others several for each core)")
	fl.BoolVar(&f.noControls, "no-controls", false, "do not run the known-broken lock none beside the chosen ones")
	fl.IntVar(&p.Clients, "clients", p.Clients, "concurrent clients")
	fl.IntVar(&p.Processes, "processes", p.Processes, "processes that the clients are spread over")
	fl.DurationVar(&p.Duration, "duration", p.Duration, "duration of each trial")
	fl.DurationVar(&p.TTL, "ttl", p.TTL, "lease")
	fl.DurationVar(&p.Wait, "wait", p.Wait, "longest wait for a grant (0: unlimited)")
	fl.DurationVar(&p.Hold, "hold", p.Hold, "time inside the critical section")
	fl.DurationVar(&p.Think, "think", p.Think, "mean time between two iterations of a client")
	fl.IntVar(&p.Keys, "keys", p.Keys, "number of different locks")
	fl.TextVar(&p.Spread, "distribution", p.Spread, "how clients choose among the keys: one, uniform, zipf or own (client c uses key c modulo the keys)")
	fl.IntVar(&p.Stock, "stock", p.Stock, "pieces for sale: of each key in the workload inventory, in total in flash-sale")
	fl.StringToStringVar(&f.lockParams, "param", nil, "parameters of the locks, such as wait=backoff (wait=spin)")
	f.defineShared(fl, "command of your own lock, in place of --locks")
}

// defineShared defines the flags that run and verify have in common.
func (f *flags) defineShared(fl *pflag.FlagSet, worker string) {
	fl.StringVar(&f.worker, "worker", "", worker)
	fl.StringVar(&f.deployment, "deployment", servers.Single, "deployment of the lock of --worker: "+strings.Join(stores.Deployments(servers.Redis), ", "))
	fl.IntVar(&f.trials, "trials", 1, "trials of each workload and fault with each lock")
	fl.Uint64Var(&f.params.Seed, "seed", f.params.Seed, "seed of all randomness")
	f.servers.Define(fl, "where locks run", "one, or five for the locks that need five")
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-<name>)")
	fl.BoolVar(&f.asJSON, "json", false, "print results.json instead of the table")
	fl.BoolVar(&f.verbose, "verbose", false, "print every check, not only a row for each lock")
}

// plan turns flags into cells, and reports wrong flags before anything starts.
func (f *flags) plan(cmd *cobra.Command) (*Runner, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	plan, err := f.cells(cmd.Context())
	if err != nil {
		return nil, err
	}
	if f.name = "quick"; len(f.scenarios) > 0 {
		f.name = "scenarios"
	} else if f.chosen() {
		f.name = "chosen"
	}
	r := &Runner{flags: f, missing: missingStores(plan, f.servers)}
	r.cells, r.notes = trial.Fitting(plan, f.servers.How, f.servers.Remote)
	return r, r.begin(cmd)
}

func (f *flags) chosen() bool { return len(f.locks)+len(f.workloads)+len(f.faults)+len(f.worker) > 0 }

const hintRun = "see lockbench run --help"

func (f *flags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if f.params.Keys > 1 && !changed("distribution") {
		f.params.Spread = workloads.Uniform
	}
	err := f.params.Check()
	if err == nil && f.worker == "" { // a program of the user's own knows its parameters itself
		err = impls.CheckParams(f.lockParams)
	}
	if err != nil {
		return console.Usage(err, hintRun)
	}
	if err := f.checkChoice(cmd); err != nil {
		return err
	}
	if changed("ttl") {
		f.faultTTL = f.params.TTL
	}
	if changed("clients") {
		f.shop.Buyers = &f.params.Clients
	}
	if changed("hold") {
		f.shop.Hold = &f.params.Hold
	}
	return f.servers.Settle(cmd)
}

func (f *flags) checkChoice(cmd *cobra.Command) error {
	return console.Refuse(hintRun,
		console.Refusal{If: f.trials < 1 || f.trials > 10_000, What: "--trials: want 1 to 10000"},
		console.Refusal{If: f.jobs < 0 || f.jobs > 64, What: "--jobs: want 1 to 64, or 0 for the default"},
		console.Refusal{If: f.jobs > 1 && f.servers.Named(), Hint: "leave out --jobs",
			What: "--jobs: on your own servers trials run one after the other, since they use the same keys"},
		console.Refusal{If: len(f.scenarios) > 0 && f.chosen(), What: "--scenarios have their own locks, workloads and faults",
			Hint: "leave out the others, or name locks and faults instead"},
		console.Refusal{If: f.thorough && len(f.workloads)+len(f.faults)+len(f.scenarios) > 0, What: "--thorough is for a run of all workloads without faults",
			Hint: "leave out --thorough, or --workloads, --faults and --scenarios"},
		console.Refusal{If: f.worker != "" && len(f.locks) > 0, What: "--worker takes the place of --locks", Hint: "leave out one of the two"},
		console.Refusal{If: f.worker == "" && cmd.Flags().Changed("deployment"), What: "--deployment is for the lock of --worker"})
}

// run drives every cell, reports, and returns the exit code as an error.
func (r *Runner) run(ctx context.Context) error {
	r.sayServers()
	for _, note := range r.notes {
		fmt.Fprintln(r.stderr, "note:", note)
	}
	failed, err := r.measure(ctx)
	if err != nil {
		return err
	}
	if err := r.print(); err != nil {
		return err
	}
	found := console.Codes{console.ExitInternal: r.results.Tally.Disagreements > 0, console.ExitInterrupted: ctx.Err() != nil}
	for _, o := range r.results.Cells {
		found[console.CodeOf(o.Result)] = true
	}
	if n := len(r.results.Gaps); n > 0 && failed == nil && ctx.Err() == nil {
		failed = fmt.Errorf("%d parts of the run could not be reported", n)
	}
	if failed != nil && !found[console.ExitInterrupted] && !found[console.ExitInternal] {
		return console.Environment(failed, "what was recorded before is judged and reported above")
	}
	return found.Err()
}

func (r *Runner) print() error {
	if r.asJSON {
		return console.JSON(r.stdout, r.results)
	}
	fmt.Fprintln(r.stdout)
	r.results.Text(r.stdout, console.IsTerminal(r.stdout), r.verbose)
	_, err := fmt.Fprintf(r.stdout, "\npage: %s\n", filepath.Join(r.dir, "report", "index.html"))
	return err
}
