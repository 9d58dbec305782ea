package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/impls"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/run"
	"lockbench/workloads"
)

// runFlags are what run was asked to do.
type runFlags struct {
	name                     string // of the run; "": it follows from what was asked for
	locks, workloads, faults []string
	scenarios                []string
	worker, deployment       string
	trials, jobs             int
	noControls               bool
	servers                  string
	own                      ownServers
	remote                   servers.Remote // what own came to
	out                      string
	asJSON                   bool
	lockParams               map[string]string
	faultTTL                 time.Duration // the TTL that was asked for; 0: none was
	shop                     trial.Asked   // buyers and work that were asked for
	params                   workloads.Params
}

func runCommand() *cobra.Command {
	f := runFlags{params: workloads.Defaults()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Drive locks, record, judge and report",
		Long: `run drives locks with workloads, records every operation, judges the record and writes a page.

With no flags it does the whole quick comparison: every lock with every workload that applies, in less
than a minute and a half. It leaves a folder in runs/ with every history, verdict and figure, and the page.

With --faults something goes wrong on purpose: clients live in processes of their own, a proxy stands between
each and its servers, and what is injected is seen to take effect, or the trial does not count. With --scenarios
the warnings of the articles are acted out: lockbench list scenarios tells them.

With --worker the lock is a program of your own, in any language: see docs/worker-protocol.md.

With --redis, --mysql, --postgres, --mongodb, --zookeeper or --etcd the locks of those stores run on servers of your
own, and the others are left out. Every key there begins with lockbench:<run>: and is removed after its trial, nothing
else is touched, and no password is written anywhere.`,
		Args: noArguments,
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

func (f *runFlags) define(cmd *cobra.Command) {
	fl, p := cmd.Flags(), &f.params
	fl.SortFlags = false
	fl.StringSliceVar(&f.locks, "locks", nil, "locks to drive (all); lock@deployment is one elsewhere than usual, such as set-px-lua@cluster")
	fl.StringSliceVar(&f.workloads, "workloads", nil, "workloads to drive them with (all that apply)")
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (none)")
	fl.StringSliceVar(&f.scenarios, "scenarios", nil, "warnings to act out, or all: each brings its locks and faults")
	fl.StringVar(&f.worker, "worker", "", "command of a lock of your own, in place of --locks")
	fl.StringVar(&f.deployment, "deployment", servers.Single, "what the lock of --worker is deployed on: "+strings.Join(stores.Deployments(servers.Redis), ", "))
	fl.IntVar(&f.trials, "trials", 1, "trials of each cell")
	fl.IntVar(&f.jobs, "jobs", 0, "trials at once (1, so that they do not disturb each other's figures; under faults two for each core)")
	fl.BoolVar(&f.noControls, "no-controls", false, "do not drive the lock none beside the chosen ones")
	fl.IntVar(&p.Clients, "clients", p.Clients, "concurrent clients")
	fl.IntVar(&p.Processes, "processes", p.Processes, "locks the clients are spread over, each standing for a process")
	fl.DurationVar(&p.Duration, "duration", p.Duration, "how long each trial drives")
	fl.DurationVar(&p.TTL, "ttl", p.TTL, "lease to ask for")
	fl.DurationVar(&p.Wait, "wait", p.Wait, "how long a waiting client waits (0: until granted)")
	fl.DurationVar(&p.Hold, "hold", p.Hold, "time inside the critical section")
	fl.DurationVar(&p.Think, "think", p.Think, "mean time between two iterations of a client")
	fl.IntVar(&p.Keys, "keys", p.Keys, "number of different locks")
	fl.TextVar(&p.Spread, "distribution", p.Spread, "how clients choose among the keys: one, uniform, zipf or own (client c asks for key c modulo the keys)")
	fl.IntVar(&p.Stock, "stock", p.Stock, "what is for sale: of each key in the workload inventory, of all in flash-sale")
	fl.Uint64Var(&p.Seed, "seed", p.Seed, "seed of all randomness")
	fl.StringToStringVar(&f.lockParams, "param", nil, "parameters of the locks, such as wait=backoff (wait=spin)")
	fl.StringVar(&f.servers, "servers", servers.Auto, "where locks run: "+strings.Join(servers.Ways(), ", "))
	f.own.define(fl, "one, or five for the locks that need five")
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-<name>)")
	fl.BoolVar(&f.asJSON, "json", false, "print results.json instead of the table")
}

// runner is a run about to start.
type runner struct {
	*runFlags
	stdout, stderr io.Writer
	cells          []trial.Cell
	notes          []string // on what was left out, and why
	missing        []string // stores that were asked for and are not here
	dir            string
	setting        trial.Setting
	manifest       run.Manifest
}

// plan turns flags into cells, and finds out what is wrong with them before anything starts.
func (f *runFlags) plan(cmd *cobra.Command) (*runner, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	r := &runner{runFlags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	plan, err := f.cells(cmd.Context())
	if err != nil {
		return nil, err
	}
	r.cells, r.notes = trial.Fitting(plan, f.servers, f.remote)
	r.missing = missingStores(plan, f.servers, f.remote)
	if err := r.checkServers(cmd.Context()); err != nil {
		return nil, err
	}
	return r, r.prepare(cmd)
}

// check finds out what is wrong with the flags that are no names.
func (f *runFlags) check(cmd *cobra.Command) error {
	const hint = "see lockbench run --help"
	if f.params.Keys > 1 && !cmd.Flags().Changed("distribution") {
		f.params.Spread = workloads.Uniform
	}
	if err := f.params.Check(); err != nil {
		return usage(err, hint)
	}
	if f.worker == "" { // a program of the user's own knows its parameters itself
		if err := impls.CheckParams(f.lockParams); err != nil {
			return usage(err, hint)
		}
	}
	if err := f.checkChoice(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("ttl") {
		f.faultTTL = f.params.TTL
	}
	if cmd.Flags().Changed("clients") {
		f.shop.Buyers = &f.params.Clients
	}
	if cmd.Flags().Changed("hold") {
		f.shop.Hold = &f.params.Hold
	}
	return f.chooseServers(cmd.Flags().Changed("servers"))
}

// called is the name of the run.
func (f *runFlags) called() string {
	switch {
	case f.name != "":
		return f.name
	case len(f.scenarios) > 0:
		return "scenarios"
	case len(f.locks)+len(f.workloads)+len(f.faults)+len(f.worker) > 0:
		return "chosen"
	}
	return "quick"
}

// prepare makes the run's folder and writes what is known before the run, so that one that is killed can
// still be reported.
func (r *runner) prepare(cmd *cobra.Command) error {
	now, name := time.Now(), r.called()
	var err error
	if r.dir, err = makeFolder(r.out, now, name); err != nil {
		return err
	}
	linkLatest(r.dir, r.out == "", "latest")
	own, err := trial.OwnWorker()
	if err != nil {
		return environment(err, "clients in processes of their own need to find this program")
	}
	r.setting = trial.Setting{Run: runID(now), Servers: r.servers, Remote: r.remote, Params: r.params, FaultTTL: r.faultTTL,
		LockParams: r.lockParams, Worker: own, Self: own[0], Asked: r.shop, Trials: r.trials}
	r.manifest = run.Manifest{Name: name, Started: now.UTC(), Command: reproduce(cmd), Seed: r.params.Seed, Servers: stores.Resolve(r.servers, servers.Redis),
		Environment: run.Collect(), Parameters: parameters(r.params), Notes: append(r.notes, r.conditions()...)}
	r.manifest.Scenarios = scenarioDocs(r.scenarios)
	r.list()
	return r.writeManifest()
}

// list adds the cells that are about to be tried to the plan of the manifest.
func (r *runner) list() {
	m := &r.manifest
	for _, c := range r.cells {
		if !slices.ContainsFunc(m.Locks, func(l run.LockDoc) bool { return l.Name == c.Lock.Name }) {
			m.Locks = append(m.Locks, run.LockDoc{Name: c.Lock.Name, Doc: c.Lock.Doc, Deployment: c.Lock.Deployment, Control: c.Lock.Control})
		}
		m.Plan = append(m.Plan, run.Cell{Dir: c.Dir(), Lock: c.Lock.Name, Deployment: c.On(),
			Workload: c.Workload.Name, Fault: c.Fault.Name, Scenario: c.Scenario})
	}
}

func (r *runner) writeManifest() error {
	if err := run.WriteManifest(r.dir, r.manifest); err != nil {
		return environment(err, "the folder of the run must be writable: choose another with --out")
	}
	return nil
}

// run drives every cell, reports, and returns the exit code as an error.
func (r *runner) run(ctx context.Context) error {
	found := codes{}
	var failed error
	r.sayServers()
	for _, note := range r.notes {
		fmt.Fprintln(r.stderr, "note:", note)
	}
	failed = r.drive(ctx)
	r.manifest.Ended, r.manifest.Interrupted = time.Now().UTC(), ctx.Err() != nil
	if failed != nil {
		what := "the run ended early: "
		if errors.Is(failed, trial.ErrVoid) {
			what = "a trial was given up: "
		}
		r.manifest.Warnings = append(r.manifest.Warnings, what+scrub(failed.Error()))
	}
	if err := r.writeManifest(); err != nil {
		return err
	}
	results, err := run.Build(r.dir)
	if err != nil {
		return environment(err, "the histories are kept; when the cause is mended: lockbench report "+r.dir)
	}
	if err := r.print(results); err != nil {
		return err
	}
	for _, o := range results.Cells {
		found[exitCode(o.Score)] = true
	}
	if len(results.Gaps) > 0 && failed == nil && ctx.Err() == nil {
		failed = fmt.Errorf("%d parts of the run could not be reported", len(results.Gaps))
	}
	found[exitInternal] = results.Tally.Disagreements > 0
	found[exitInterrupted] = ctx.Err() != nil
	if failed != nil && !found[exitInterrupted] && !found[exitInternal] {
		return environment(failed, "what was recorded until then is judged and reported above")
	}
	return found.exit()
}
