// Package run implements the commands run and verify. It turns flags into cells, runs the trials of the cells, and writes a
// report. Its main type is Runner.
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/impls"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/reports/run"
	"lockbench/workloads"
)

type flags struct {
	name                     string // name of the run, such as "quick"
	locks, workloads, faults []string
	scenarios                []string
	scenarioDocs             []run.Scenario // descriptions of the chosen scenarios, for the report
	worker                   choice.Worker
	junit                    string // file for a JUnit report
	notes                    []string
	trials, jobs             int
	noControls, thorough     bool
	servers                  choice.Servers
	fleet                    choice.Fleet
	out                      string
	asJSON, verbose          bool
	lockParams               map[string]string
	faultHold                time.Duration // value of --hold; 0 if the flag is not set
	faultTTL                 time.Duration // value of --ttl; 0 if the flag is not set
	faultClients             int           // value of --clients; 0 if the flag is not set
	faultTrials              int           // minimum number of trials of a cell with a fault
	shop                     trial.Asked   // values of --clients and --hold for the flash-sale workloads
	params                   workloads.Params
}

// Command returns the command "lockbench run".
func Command() *cobra.Command {
	f := flags{params: workloads.Defaults()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Compare locks: which exclude, how fast and how fair they are",
		Long: `run drives locks with workloads, records every operation, judges the histories and writes a report
to a folder in runs/. Without flags it compares every built-in lock, in about a minute.

--faults injects faults. Clients then run in separate processes, and each fault is verified: a
trial in which it had no effect is discarded and repeated. --scenarios runs what lockbench list
scenarios describes. --worker runs your own lock (docs/reference/worker-protocol.md).

--redis, --mysql, --postgres, --mongodb, --zookeeper and --etcd run the locks of those stores on
your own servers, and only those. Keys begin with lockbench:<run>: and are removed after each
trial. Give passwords in LOCKBENCH_REDIS_PASSWORD, LOCKBENCH_MYSQL_PASSWORD and so on.

  lockbench run --locks redisson,set-px-lua@cluster --faults process-pause,failover
  lockbench run --scenarios all

Exit codes: 0 every expectation met; 1 a property is violated that was expected to hold; 2 wrong
usage; 3 a result is inconclusive; 4 a server, a worker or the folder does not work; 6 a known
defect was not detected; 130 interrupted.`,
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
	fl.StringSliceVar(&f.locks, "locks", nil, choice.LocksUsage+" (all built-in ones)")
	fl.StringSliceVar(&f.workloads, "workloads", nil, "workloads to run (all that apply, except varied)")
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (none; expected: those with an expectation)")
	fl.StringSliceVar(&f.scenarios, "scenarios", nil, "scenarios to run, or all: each has its own locks and faults")
	fl.BoolVar(&f.thorough, "thorough", false, "also run and measure the workloads that only add figures")
	fl.BoolVar(&f.noControls, "no-controls", false, "leave out the known-broken lock none")
	fl.DurationVar(&p.Duration, "duration", p.Duration, "measured time of each trial")
	fl.DurationVar(&p.Wait, "wait", p.Wait, "longest wait for a grant (0: unlimited)")
	fl.DurationVar(&p.Think, "think", p.Think, "mean time between two iterations of a client")
	fl.IntVar(&p.Keys, "keys", p.Keys, "number of different keys")
	fl.TextVar(&p.Spread, "distribution", p.Spread, "choice of keys: one, uniform, zipf or own")
	fl.IntVar(&p.Stock, "stock", p.Stock, "pieces for sale in inventory and flash-sale")
	fl.StringToStringVar(&f.lockParams, "param", nil, "parameters of the locks (such as wait=backoff)")
	f.defineShared(fl)
}

// defineShared defines the flags that run and verify share.
func (f *flags) defineShared(fl *pflag.FlagSet) {
	p := &f.params
	f.worker.Define(fl)
	fl.IntVar(&p.Clients, "clients", p.Clients, "concurrent clients (under faults 3 or more, by default 3)")
	fl.IntVar(&p.Processes, "processes", p.Processes, "processes that the clients are spread over")
	fl.DurationVar(&p.TTL, "ttl", p.TTL, "lease")
	fl.DurationVar(&p.Hold, "hold", p.Hold, "time inside the critical section (with faults 0.7 TTL)")
	fl.IntVar(&f.jobs, "jobs", 0, "concurrent trials (1 if figures are compared, else several a core)")
	fl.IntVar(&f.trials, "trials", 1, "number of trials (of each combination; 4 with --faults)")
	fl.Uint64Var(&f.params.Seed, "seed", f.params.Seed, "seed of all randomness")
	f.servers.Define(fl)
	f.fleet.Define(fl, false)
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-<name>)")
	fl.StringVar(&f.junit, "junit", "", "also write a JUnit file with a test case for each expectation")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON (results.json)")
	fl.BoolVar(&f.verbose, "verbose", false, "print every check, not only one row for each lock")
}

// plan checks the flags and returns a Runner for the combinations of lock, workload and fault to test. It does not start any
// trial.
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
	r.notes = append(f.notes, r.notes...)
	return r, r.begin(cmd)
}

func (f *flags) chosen() bool {
	return len(f.locks)+len(f.workloads)+len(f.faults) > 0 || f.worker.Given()
}

// usualFaultTrials is the default number of trials of a cell with a fault that the user names. A single trial says
// little about a race.
const usualFaultTrials = 4

// hasFault reports whether the user names at least one fault.
func (f *flags) hasFault() bool {
	return slices.ContainsFunc(f.faults, func(name string) bool { return name != faults.None().Name })
}

// trialsOf returns the number of trials of a cell.
func (f *flags) trialsOf(c trial.Cell) int {
	if c.Fault.Kind == faults.Nothing {
		return f.trials
	}
	return max(f.trials, f.faultTrials)
}

const hintRun = "see lockbench run --help"

func (f *flags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if f.params.Keys > 1 && !changed("distribution") {
		f.params.Spread = workloads.Uniform
	}
	err := f.params.Check()
	if err == nil && !f.worker.Given() { // the worker checks the parameters of a user's lock
		err = impls.CheckParams(f.lockParams)
	}
	if err != nil {
		return console.Usage(err, hintRun)
	}
	if err := f.checkChoice(cmd); err != nil {
		return err
	}
	if err := f.worker.Install(cmd.Context(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	if changed("ttl") {
		f.faultTTL = f.params.TTL
	}
	if changed("clients") {
		f.shop.Buyers, f.faultClients = &f.params.Clients, f.params.Clients
	}
	if changed("hold") {
		f.shop.Hold, f.faultHold = &f.params.Hold, f.params.Hold
		if f.hasFault() && f.worker.Command == "" {
			f.notes = append(f.notes, "with --hold, built-in locks under faults are only expected to keep lease-exclusion, owner-release and fencing, "+
				"and exclusion if they can renew; the rest is observed")
		}
	}
	if f.hasFault() && !changed("trials") {
		f.faultTrials = usualFaultTrials
	}
	if err := f.servers.Settle(cmd); err != nil {
		return err
	}
	return f.fleet.Fits(f.servers)
}

func (f *flags) checkChoice(cmd *cobra.Command) error {
	return console.Refuse(hintRun, append(append(f.worker.Refusals(f.locks), f.fleet.Refusals(f.out)...),
		console.Refusal{If: f.trials < 1 || f.trials > 10_000, What: "--trials: want 1 to 10000"},
		console.Refusal{If: f.hasFault() && f.params.Clients > trial.MostClients, What: fmt.Sprintf("--clients: want at most %d under faults, where each client has a process", trial.MostClients)},
		console.Refusal{If: f.jobs < 0 || f.jobs > 64, What: "--jobs: want 1 to 64, or 0 for the default"},
		console.Refusal{If: f.jobs > 1 && f.servers.Named(), Hint: "leave out --jobs",
			What: "--jobs: on your own servers trials run one after the other, since they use the same keys"},
		console.Refusal{If: len(f.scenarios) > 0 && f.chosen(), What: "--scenarios have their own locks, workloads and faults",
			Hint: "leave out the others, or name locks and faults instead"},
		console.Refusal{If: f.thorough && len(f.workloads)+len(f.faults)+len(f.scenarios) > 0, What: "--thorough is for a run of all workloads without faults",
			Hint: "leave out --thorough, or --workloads, --faults and --scenarios"})...)
}

// run carries out the trials of every cell (combination of lock, workload and fault) and writes the report. The returned error
// determines the exit code.
func (r *Runner) run(ctx context.Context) error {
	r.sayServers()
	for _, note := range r.notes {
		console.Note(r.stderr, note)
	}
	failed, err := r.measure(ctx)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if failed == nil && ctx.Err() == nil {
		console.Link(r.dir, "latest")
	}
	if err := r.print(); err != nil {
		return err
	}
	if err := r.writeJUnit(); err != nil {
		return err
	}
	found := console.Codes{console.ExitInternal: r.results.Tally.Disagreements > 0, console.ExitInterrupted: ctx.Err() != nil}
	for _, o := range r.results.Cells {
		found[console.CodeOf(o.Result)] = true
	}
	if n := len(r.results.Gaps); n > 0 && failed == nil && ctx.Err() == nil {
		failed = fmt.Errorf("%d parts of the run could not be reported", n)
	}
	if errors.Is(failed, trial.ErrDiscarded) && found[console.ExitFail] { // for the exit code, a FAIL takes precedence over a discarded trial
		console.Note(r.stderr, failed.Error())
		failed = nil
	}
	if failed != nil && !found[console.ExitInterrupted] && !found[console.ExitInternal] {
		if errors.As(failed, new(*console.Exit)) { // it has a hint
			return failed
		}
		return console.Environment(failed, "what was recorded before is judged and reported above")
	}
	return found.Err()
}

// writeJUnit writes the file that --junit names.
func (r *Runner) writeJUnit() error {
	if r.junit == "" {
		return nil
	}
	file, err := os.Create(r.junit)
	if err == nil {
		err = errors.Join(r.results.JUnit(file), file.Close())
	}
	if err != nil {
		return console.Environment(fmt.Errorf("write the JUnit report: %w", err), "the results are in "+r.dir)
	}
	return nil
}

func (r *Runner) print() error {
	if r.asJSON {
		return console.JSON(r.stdout, r.results)
	}
	fmt.Fprintln(r.stdout)
	r.results.Text(r.stdout, console.IsTerminal(r.stdout), r.verbose)
	fmt.Fprintf(r.stdout, "\npage: %s\n", filepath.Join(r.dir, "report", "index.html"))
	if r.results.Tally.Fail > 0 {
		fmt.Fprintln(r.stdout, "what each property means: lockbench list properties")
	}
	if len(r.faults)+len(r.scenarios) > 0 || r.worker.Command != "" {
		return nil
	}
	locks := "fenced,redisson"
	if len(r.locks) > 0 {
		locks = strings.Join(r.locks, ",")
	}
	fmt.Fprintf(r.stdout, "next: lockbench run --locks %s --faults process-pause,partition   what faults do\n", locks)
	fmt.Fprintf(r.stdout, "      lockbench bench --locks %s   how fast and how fair they are\n", locks)
	fmt.Fprintln(r.stdout, "      lockbench advise   which lock suits your requirements")
	return nil
}
