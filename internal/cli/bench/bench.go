// Package bench implements three commands: bench measures locks, and compare and gate read the results of bench.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/fleet"
	"lockbench/internal/measure"
	"lockbench/internal/measure/suites"
	"lockbench/internal/world/stores"
	benchreport "lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

type flags struct {
	suite, resume, out string
	shape              shape
	servers            choice.Servers
	fleet              choice.Fleet
	agents             int // number of agents that run the clients; 0: this process runs them
	forget             bool
	asJSON             bool
}

const hint = "see lockbench bench --help"

// Command returns the command bench.
func Command() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure speed, fairness and cost of locks",
		Long: `bench measures locks side by side. Each block has one trial of every lock at every point, in
random order, on the same servers, after a warm-up. Every trial is recorded and judged; the
figures of a lock are struck out if two clients held it at once. A bench ends when the confidence
intervals are narrow enough or the budget is used up.

Without flags it measures the suite quick, in about a minute and a half. --suite names another
suite or a file (docs/reference/suites.md); --locks, --clients and the flags below them describe a
suite. Every bench includes controls: if one fails, no figure is shown. They need eight trials.
--resume continues an interrupted bench; no finished trial is lost.

  lockbench bench --suite standard
  lockbench bench --locks redsync,fenced --clients 1,16 --hold 1ms,5ms

Exit codes: 0 measured; 1 two clients held a lock at once that was expected to exclude; 2 wrong
usage, or a budget or trials that cannot suffice; 3 figures withheld; 4 a server does not work;
130 interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := f.prepare(cmd)
			if err != nil {
				return err
			}
			return b.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.suite, "suite", "", "suite: "+shipped()+", or a file (quick)")
	f.shape.define(fl)
	f.servers.Define(fl)
	fl.IntVar(&f.agents, "agents", 0, "number of agents that run the clients (this process)")
	f.fleet.DefineQueue(fl)
	fl.StringVar(&f.resume, "resume", "", choice.ResumeUsage)
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-bench-<suite>)")
	fl.BoolVar(&f.forget, "no-histories", false, "remove each judged history unless it is unexpected")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON (results.json)")
	return cmd
}

type benching struct {
	*flags
	bench          *measure.Bench
	show           *progress
	stdout, stderr io.Writer
}

// prepare checks the flags, the suite and the servers before anything is measured. It creates the folder for the results,
// unless an interrupted benchmark is resumed.
func (f *flags) prepare(cmd *cobra.Command) (*benching, error) {
	suite, earlier, err := f.chooseSuite(cmd)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(f.servers.Settle(cmd), f.refuse()); err != nil {
		return nil, err
	}
	plan, err := measure.NewPlan(*suite, f.servers.How, f.servers.Remote)
	if err != nil {
		return nil, console.Usage(err, hint)
	}
	if err := choice.Required(plan.Absent); err != nil {
		return nil, err
	}
	if len(plan.Pairs) == 0 {
		err := errors.New(append(plan.Notes, "none of these locks can be measured here")[0])
		if len(plan.Absent) > 0 {
			return nil, console.Environment(err, stores.Provide(plan.Absent[0]))
		}
		return nil, console.Usage(err, "lockbench list locks")
	}
	if f.agents > 0 {
		if err := plan.Spread(f.agents); err != nil {
			return nil, console.Usage(err, "leave out --agents, or choose another workload: "+strings.Join(measure.Divisible(), ", "))
		}
	}
	if err := plan.CheckSufficient(); err != nil {
		return nil, console.Usage(err, hint)
	}
	if err := f.servers.Reach(cmd.Context()); err != nil {
		return nil, err
	}
	if earlier == nil {
		dir, err := console.Folder(f.out, "bench-"+suite.Name)
		if err != nil {
			return nil, err
		}
		return begin(cmd, f, plan, dir)
	}
	if err := sameBench(earlier, &plan.Plan); err != nil {
		return nil, err
	}
	b, err := begin(cmd, f, plan, f.resume)
	plan.Command, plan.Started = earlier.Command, earlier.Started
	return b, err
}

func begin(cmd *cobra.Command, f *flags, plan *measure.Plan, dir string) (*benching, error) {
	own, err := trial.OwnWorker()
	if err != nil {
		return nil, console.Environment(err, "clients in separate processes need to find this program")
	}
	plan.Command, plan.Started, plan.Environment = console.Reproduce(cmd), time.Now().UTC(), run.Collect()
	b := &benching{flags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	b.show = newProgress(b.stderr)
	b.bench = &measure.Bench{Plan: plan, Dir: dir, Forget: f.forget, Begin: b.show.begin, End: b.show.end,
		Setting: trial.Setting{Run: choice.RunID(), Servers: f.servers.How, Remote: f.servers.Remote, Worker: own, Self: own[0]}}
	return b, nil
}

// Measure runs the benchmark that a plan describes. It writes the results and a report to a folder.
func Measure(cmd *cobra.Command, on choice.Servers, plan *measure.Plan, dir string) error {
	if _, err := console.Folder(dir, ""); err != nil {
		return err
	}
	b, err := begin(cmd, &flags{servers: on}, plan, dir)
	if err != nil {
		return err
	}
	_, err = b.measure(cmd.Context())
	return err
}

// chooseSuite returns the suite that the flags name or describe. If a benchmark is resumed, it also returns the earlier plan
// of this benchmark.
func (f *flags) chooseSuite(cmd *cobra.Command) (*suites.Suite, *benchreport.Plan, error) {
	var earlier *benchreport.Plan
	if f.resume != "" {
		if f.out != "" {
			return nil, nil, console.Usage(errors.New("--resume continues in the folder of the bench, so that --out has no meaning"), "leave out --out")
		}
		var err error
		if _, err := os.Stat(filepath.Join(f.resume, benchreport.PlanName)); err != nil {
			return nil, nil, choice.Misplaced(f.resume, "a bench folder", nil, hintBench)
		}
		if earlier, err = benchreport.ReadPlan(f.resume); err != nil {
			return nil, nil, console.Usage(err, hintBench)
		}
	}
	s, err := f.suiteOf(cmd)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case earlier != nil && !cmd.Flags().Changed("seed"):
		s.Seed = earlier.Seed
	case s.Seed == 0:
		s.Seed = 1 + rand.Uint64N(1<<32)
	}
	f.shape.seed = s.Seed // the command line in the report contains --seed, even if the user did not set the flag
	return s, earlier, nil
}

func (f *flags) suiteOf(cmd *cobra.Command) (s *suites.Suite, err error) {
	if f.suite != "" && f.shape.given(cmd) {
		return nil, console.Usage(errors.New("--suite says what is measured: the flags that describe a suite are for benches without one"),
			"leave out either; --trials, --budget, --narrow and --seed go with both")
	}
	if f.suite == "" && f.shape.given(cmd) {
		s, err = f.shape.suite()
	} else {
		s, err = readSuite(cmp.Or(f.suite, "quick"))
	}
	if err != nil {
		return nil, err
	}
	return f.shape.over(cmd, s)
}

// sameBench returns an error if the present plan differs from the earlier plan of a resumed benchmark.
func sameBench(earlier, now *benchreport.Plan) error {
	named := func(a, b benchreport.Subject) bool { return a.Name == b.Name }
	same := earlier.Name == now.Name && earlier.Agents == now.Agents && slices.Equal(earlier.Points, now.Points) && slices.EqualFunc(earlier.Subjects, now.Subjects, named)
	if !same {
		return console.Usage(errors.New("this is not the bench that was interrupted: it measures something else"), "continue with --resume and the line "+earlier.Command)
	}
	return nil
}

func (b *benching) run(ctx context.Context) error {
	for _, note := range b.bench.Notes {
		console.Note(b.stderr, note)
	}
	r, failed := b.measure(ctx)
	if r == nil {
		return failed
	}
	var err error
	if b.asJSON {
		err = console.JSON(b.stdout, r)
	} else {
		fmt.Fprintln(b.stdout)
		err = Print(b.stdout, b.bench.Dir, r)
	}
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return console.Codes{
		console.ExitInterrupted:  ctx.Err() != nil,
		console.ExitInternal:     slices.ContainsFunc(r.Trials, func(t *benchreport.Trial) bool { return t.Judged != nil && t.Judged.Disagree }),
		console.ExitFail:         slices.ContainsFunc(r.Rows, func(row benchreport.Row) bool { return row.Unsafe != nil && !row.Unsafe.Expected }),
		console.ExitInconclusive: len(r.Withheld) > 0,
	}.Err()
}

// measure runs the benchmark and writes its report. If the benchmark ends early, it returns the results so far and an error
// with the reason.
func (b *benching) measure(ctx context.Context) (*benchreport.Results, error) {
	plan := &b.bench.Plan.Plan
	end, err := b.crew(ctx)
	if err != nil {
		b.show.Close()
		return nil, err
	}
	err = errors.Join(b.bench.Run(ctx), end())
	b.show.Close()
	plan.Ended, plan.Interrupted = time.Now().UTC(), err != nil
	if err != nil && ctx.Err() == nil {
		plan.Warnings = append(plan.Warnings, "the bench ended early: "+format.Scrub(err.Error()))
	}
	if e := benchreport.WritePlan(b.bench.Dir, plan); e != nil {
		return nil, console.Environment(errors.Join(err, e), "the folder of the bench must be writable")
	}
	r, e := benchreport.Build(b.bench.Dir)
	if e != nil {
		return nil, console.Environment(errors.Join(err, e), "the trials are stored; once the cause is fixed: lockbench report "+b.bench.Dir)
	}
	if err == nil && len(r.Withheld) == 0 {
		console.Link(b.bench.Dir, "latest-bench")
	}
	if errors.Is(err, fleet.ErrRefused) {
		return nil, console.Environment(err, "start each agent with the same addresses, such as --redis; docs/scale.md shows how")
	}
	if err != nil && ctx.Err() == nil {
		return r, console.Environment(err, "what was measured before is reported; lockbench bench --resume "+b.bench.Dir+" continues")
	}
	return r, nil
}

// Print prints the results of a benchmark.
func Print(w io.Writer, dir string, r *benchreport.Results) error {
	if err := benchreport.Text(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\npage: %s\n", filepath.Join(dir, "report", "index.html"))
	return err
}
