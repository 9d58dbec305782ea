package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/spf13/cobra"
	"io"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure"
	"lockbench/internal/measure/suites"
	"lockbench/internal/world/servers"
	benchreport "lockbench/reports/bench"
	"lockbench/reports/run"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// benchFlags are what bench was asked to do.
type benchFlags struct {
	suite, resume, out string
	shape              benchShape
	servers            string
	own                ownServers
	remote             servers.Remote
	forget             bool
	asJSON             bool
}

func benchCommand() *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast and how fair locks are, and at what cost",
		Long: `bench measures locks side by side: in each block every lock once at every point, in an order of its own, on the same
servers, after a warm-up until its rate is steady. Every trial is recorded and judged as those of run are; a figure from a
trial in which two held at once is struck out. It ends early when the intervals are narrow enough, and goes on when they
are not, within its budget.

With no flags it measures the suite quick. --suite names another one, or a file of your own (docs/benchmarks.md), and the
other flags make up one. Every bench carries its own controls, and where one of them fails no figure is shown.

A bench that was cut short goes on with --resume DIR, and loses no trial that had ended.`,
		Args: noArguments,
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
	fl.StringVar(&f.suite, "suite", "", "suite to measure: "+shippedSuites()+", or a file (quick)")
	f.shape.define(fl)
	fl.StringVar(&f.servers, "servers", servers.Auto, "where locks run: auto, embedded, local, docker, external")
	f.own.define(fl, "one, or five for the locks that need five")
	fl.StringVar(&f.resume, "resume", "", "folder of a bench that was cut short, to go on with")
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-bench-<suite>)")
	fl.BoolVar(&f.forget, "no-histories", false, "remove each history once it was judged, unless it shows what nobody expected; its checksum stays")
	fl.BoolVar(&f.asJSON, "json", false, "print results.json instead of the table")
	return cmd
}

// benching is a bench about to start.
type benching struct {
	*benchFlags
	bench          *measure.Bench
	show           *benchProgress
	stdout, stderr io.Writer
}

// prepare finds out what is wrong before anything starts, and makes the folder, or finds it.
func (f *benchFlags) prepare(cmd *cobra.Command) (*benching, error) {
	suite, earlier, err := f.chooseSuite(cmd)
	if err != nil {
		return nil, err
	}
	if err := f.chooseServers(cmd.Flags().Changed("servers")); err != nil {
		return nil, err
	}
	plan, notes, absent, err := measure.NewPlan(*suite, f.servers, f.remote)
	if err != nil {
		return nil, usage(err, "see lockbench bench --help")
	}
	if err := required(absent); err != nil {
		return nil, err
	}
	if len(plan.Pairs) == 0 {
		err := errors.New("none of these locks can be measured here")
		if len(notes) > 0 {
			err = errors.New(notes[0])
		}
		if len(absent) > 0 {
			return nil, environment(err, servers.Provide(absent[0]))
		}
		return nil, usage(err, "lockbench list locks")
	}
	now := time.Now()
	plan.Command, plan.Started, plan.Environment, plan.Notes = reproduce(cmd), now.UTC(), run.Collect(), notes
	dir := f.resume
	if earlier != nil {
		err = sameBench(earlier, &plan.Plan)
		plan.Command, plan.Started = earlier.Command, earlier.Started
	} else {
		dir, err = makeFolder(f.out, now, "bench-"+suite.Name)
		if err == nil {
			linkLatest(dir, f.out == "", "latest-bench")
		}
	}
	if err != nil {
		return nil, err
	}
	return f.over(cmd, plan, dir)
}

// over is a bench of a plan, about to start in its folder.
func (f *benchFlags) over(cmd *cobra.Command, plan *measure.Plan, dir string) (*benching, error) {
	own, err := trial.OwnWorker()
	if err != nil {
		return nil, environment(err, "clients in processes of their own need to find this program")
	}
	b := &benching{benchFlags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	b.show = newBenchProgress(b.stderr)
	b.bench = &measure.Bench{Plan: plan, Dir: dir, Forget: f.forget, Begin: b.show.begin, End: b.show.end,
		Setting: trial.Setting{Run: runID(time.Now()), Servers: f.servers, Remote: f.remote, Worker: own, Self: own[0]}}
	return b, nil
}

// chooseServers settles where the locks run, as run does.
func (f *benchFlags) chooseServers(chosen bool) error {
	r := runFlags{servers: f.servers, own: f.own}
	if err := r.chooseServers(chosen); err != nil {
		return err
	}
	f.servers, f.remote = r.servers, r.remote
	return nil
}

// chooseSuite is the suite that was named, or made up of flags, or the one of the bench that is to go on.
func (f *benchFlags) chooseSuite(cmd *cobra.Command) (*suites.Suite, *benchreport.Plan, error) {
	var earlier *benchreport.Plan
	if f.resume != "" {
		if f.out != "" {
			return nil, nil, usage(errors.New("--resume goes on in the folder of the bench, so that --out has no meaning"), "leave out --out")
		}
		var err error
		if earlier, err = benchreport.ReadPlan(f.resume); err != nil {
			return nil, nil, usage(err, "a bench's folder has a bench.json in it: lockbench bench leaves it in runs/")
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
	f.shape.seed = s.Seed // so that the line that reproduces it has the one that was drawn
	return s, earlier, nil
}

func (f *benchFlags) suiteOf(cmd *cobra.Command) (*suites.Suite, error) {
	if f.suite != "" && f.shape.given(cmd) {
		return nil, usage(errors.New("--suite says what is measured: the flags that make up a suite are for benches without one"),
			"leave out either; --trials, --budget, --narrow and --seed go with both")
	}
	var s *suites.Suite
	var err error
	switch {
	case f.suite != "":
		s, err = readSuite(f.suite)
	case f.shape.given(cmd):
		s, err = f.shape.suite()
	default:
		s, err = readSuite("quick")
	}
	if err != nil {
		return nil, err
	}
	return f.shape.over(cmd, s)
}

// sameBench refuses to mix trials that were made otherwise.
func sameBench(earlier, now *benchreport.Plan) error {
	same := len(earlier.Subjects) == len(now.Subjects) && len(earlier.Points) == len(now.Points) && earlier.Name == now.Name
	for i := 0; same && i < len(now.Points); i++ {
		same = earlier.Points[i] == now.Points[i]
	}
	for i := 0; same && i < len(now.Subjects); i++ {
		same = earlier.Subjects[i].Name == now.Subjects[i].Name
	}
	if !same {
		return usage(errors.New("this is not the bench that was cut short: it measures something else"), "the line that goes on with it, and --resume: "+earlier.Command)
	}
	return nil
}

// linkLatest makes a link in runs/ to what was made there last: a convenience, and where it cannot be made nothing is lost.
func linkLatest(dir string, inRuns bool, name string) {
	if inRuns {
		link := filepath.Join("runs", name)
		os.Remove(link)
		os.Symlink(filepath.Base(dir), link)
	}
}

// run measures, reports, and returns the exit code as an error.
func (b *benching) run(ctx context.Context) error {
	for _, note := range b.bench.Notes {
		fmt.Fprintln(b.stderr, "note:", note)
	}
	r, failed := b.measure(ctx)
	if r == nil {
		return failed
	}
	if err := b.print(r); err != nil {
		return err
	}
	found := codes{exitInterrupted: ctx.Err() != nil}
	for _, t := range r.Trials {
		found[exitInternal] = found[exitInternal] || t.Judged != nil && t.Judged.Disagree
	}
	for _, row := range r.Rows {
		found[exitBroken] = found[exitBroken] || row.Unsafe != nil && !row.Unsafe.Expected
	}
	found[exitUndecided] = len(r.Withheld) > 0
	if failed != nil {
		return failed
	}
	return found.exit()
}

// measure carries the bench out and makes its report. There are results where it ended early as well, and an error that says
// why.
func (b *benching) measure(ctx context.Context) (*benchreport.Results, error) {
	plan := &b.bench.Plan.Plan
	err := b.bench.Run(ctx)
	b.show.close()
	plan.Ended, plan.Interrupted = time.Now().UTC(), ctx.Err() != nil
	if err != nil && ctx.Err() == nil {
		plan.Warnings = append(plan.Warnings, "it ended early: "+scrub(err.Error()))
	}
	if e := benchreport.WritePlan(b.bench.Dir, plan); e != nil {
		return nil, environment(errors.Join(err, e), "the folder of the bench must be writable")
	}
	r, e := reportBench(b.bench.Dir)
	if e != nil {
		return nil, environment(errors.Join(err, e), "the trials are kept; when the cause is mended: lockbench report "+b.bench.Dir)
	}
	if err != nil && ctx.Err() == nil {
		return r, environment(err, "what was measured until then is reported; lockbench bench --resume "+b.bench.Dir+" goes on")
	}
	return r, nil
}

func (b *benching) print(r *benchreport.Results) error {
	if b.asJSON {
		return printJSON(b.stdout, r)
	}
	fmt.Fprintln(b.stdout)
	return sayBench(b.stdout, b.bench.Dir, r)
}

// sayBench is what a bench comes to, on a terminal.
func sayBench(w io.Writer, dir string, r *benchreport.Results) error {
	if err := benchreport.Text(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\npage: %s\n", filepath.Join(dir, "report", "index.html"))
	return err
}

// reportBench makes all that is shown of a bench anew from its folder.
func reportBench(dir string) (*benchreport.Results, error) {
	r, err := benchreport.Read(dir)
	if err != nil {
		return nil, err
	}
	page, err := benchreport.Page(r)
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	text, err := benchreport.Markdown(r)
	if err != nil {
		return nil, fmt.Errorf("report.md: %w", err)
	}
	report := filepath.Join(dir, "report")
	if err := os.MkdirAll(report, 0o755); err != nil {
		return nil, err
	}
	return r, errors.Join(benchreport.WriteResults(dir, r), os.WriteFile(filepath.Join(report, "index.html"), page, 0o644),
		os.WriteFile(filepath.Join(report, "report.md"), text, 0o644))
}
