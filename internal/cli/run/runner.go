package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/fleet"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/format"
	"lockbench/reports/run"
	"lockbench/workloads"
)

// Runner runs the trials of cells. It holds the cells, the result folder and the manifest for the report.
type Runner struct {
	*flags
	stdout, stderr io.Writer
	cells          []trial.Cell
	notes          []string // notes that state which locks were left out, and why
	missing        []string // requested stores that are missing
	dir            string
	setting        trial.Setting
	manifest       run.Manifest
	results        *run.Results
	pool           trial.Pool         // shared servers, for trials whose fault does not affect the servers
	queue          *fleet.Coordinator // gives trials to agents; nil: not opened yet
}

// New creates a result folder and returns a Runner with default parameters. The parameter cells lists combinations of lock,
// workload and fault. New checks the servers that they need, but runs no trial. The method Try runs trials.
func New(cmd *cobra.Command, name, out string, on choice.Servers, agents choice.Fleet, cells []trial.Cell, notes []string) (*Runner, error) {
	r := &Runner{flags: &flags{name: name, servers: on, fleet: agents, out: out, trials: 1, params: workloads.Defaults()}, cells: cells, notes: notes}
	if err := r.begin(cmd); err != nil {
		return nil, err
	}
	r.sayServers()
	return r, nil
}

// Try runs the given number of trials for each cell, a combination of lock, workload and fault. The parameter atOnce limits how
// many trials run concurrently. Try adds the notes and scenarios to the report. The results cover all cells that this Runner
// has run so far. The first error states why a trial could not be completed. The second error states why the report could not
// be written.
func (r *Runner) Try(ctx context.Context, cells []trial.Cell, notes []string, scenarios []run.Scenario, trials, atOnce int) (results *run.Results, failed, err error) {
	r.cells, r.trials, r.setting.Trials, r.jobs = cells, trials, trials, atOnce
	m := &r.manifest
	m.Notes = append(m.Notes, slices.DeleteFunc(slices.Clone(notes), func(n string) bool { return slices.Contains(m.Notes, n) })...)
	for _, s := range scenarios {
		if !slices.ContainsFunc(m.Scenarios, func(known run.Scenario) bool { return known.Name == s.Name }) {
			m.Scenarios = append(m.Scenarios, s)
		}
	}
	failed, err = r.measure(ctx)
	return r.results, failed, err
}

// Close ends the queue, and with it the agents' work for this Runner.
func (r *Runner) Close() error { return r.closeQueue() }

// begin checks the servers of the cells and creates the result folder.
func (r *Runner) begin(cmd *cobra.Command) error {
	r.stdout, r.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	own, err := trial.OwnWorker()
	if err != nil {
		return console.Environment(err, "clients in separate processes need to find this program")
	}
	if err = r.checkServers(cmd.Context()); err == nil {
		r.dir, err = console.Folder(r.out, r.name)
	}
	if err != nil {
		return errors.Join(err, r.pool.Close())
	}
	r.setting = trial.Setting{Run: choice.RunID(), Servers: r.servers.How, Remote: r.servers.Remote, Params: r.params, FaultTTL: r.faultTTL, FaultHold: r.faultHold, FaultClients: r.faultClients,
		LockParams: r.lockParams, Worker: own, Self: own[0], Asked: r.shop, Trials: max(r.trials, r.faultTrials)}
	if r.servers.How != servers.External {
		r.setting.Lend = r.pool.Lend
	}
	r.manifest = run.Manifest{Name: r.name, Started: time.Now().UTC(), Command: console.Reproduce(cmd), Seed: r.params.Seed,
		Servers: stores.Resolve(r.servers.How, servers.Redis), Environment: run.Collect(), Parameters: parameters(r.params),
		Notes: append(r.notes, r.conditions()...), Scenarios: r.scenarioDocs}
	return nil
}

// measure runs every trial and writes the report. The first error states why a trial could not be completed, or why servers
// could not be stopped. The report then covers the completed trials. The second error states why the report could not be
// written. The manifest, which lists the planned trials, is written before the first trial. So a killed run can still be
// reported.
func (r *Runner) measure(ctx context.Context) (failed, err error) {
	m := &r.manifest
	for _, c := range r.cells {
		if !slices.ContainsFunc(m.Locks, func(l run.LockDoc) bool { return l.Name == c.Lock.Name }) {
			m.Locks = append(m.Locks, run.LockDoc{Name: c.Lock.Name, Doc: c.Lock.Doc, Deployment: c.Lock.Deployment, Control: c.Lock.Control})
		}
		m.Plan = append(m.Plan, run.Cell{Dir: c.Dir(), Lock: c.Lock.Name, Deployment: c.On(),
			Workload: c.Workload.Name, Fault: c.Fault.Name, Scenario: c.Scenario, Concurrent: r.concurrent(c)})
	}
	if err := r.writeManifest(); err != nil {
		return nil, err
	}
	failed = errors.Join(r.drive(ctx), r.pool.Close())
	m.Ended, m.Interrupted = time.Now().UTC(), ctx.Err() != nil
	if failed != nil {
		what := "the run ended early: "
		if errors.Is(failed, trial.ErrDiscarded) {
			what = "all attempts at a trial were discarded: "
		}
		m.Warnings = append(m.Warnings, what+format.Scrub(failed.Error()))
	}
	if err := r.writeManifest(); err != nil {
		return failed, err
	}
	if r.results, err = run.Build(r.dir); err != nil {
		return failed, console.Environment(err, "the histories are stored; once the cause is fixed: lockbench report "+r.dir)
	}
	return failed, nil
}

func (r *Runner) writeManifest() error {
	if err := run.WriteManifest(r.dir, r.manifest); err != nil {
		return console.Environment(err, "the folder of the run must be writable: choose another with --out")
	}
	return nil
}

// conditions returns notes for the report that describe the processes in which clients run.
func (r *Runner) conditions() []string {
	isServed := func(c trial.Cell) bool { return c.Workload.Served }
	isApart := func(c trial.Cell) bool { return !c.Workload.Served && c.InProcesses() }
	served, apart := slices.ContainsFunc(r.cells, isServed), slices.ContainsFunc(r.cells, isApart)
	here := slices.ContainsFunc(r.cells, func(c trial.Cell) bool { return !isServed(c) && !isApart(c) })
	var notes []string
	if here {
		what := ""
		if apart {
			what = "without a fault "
		} else if served {
			what = "but for the shop's "
		}
		notes = append(notes, fmt.Sprintf("%sthe %d processes are simulated: each has its own lock object, and all run in one process", what, r.params.Processes))
	}
	if apart {
		notes = append(notes, "under faults clients run in separate processes, each behind a proxy: do not compare latencies there")
	}
	if served {
		notes = append(notes, fmt.Sprintf("a shop's services are separate processes; unless --clients and --hold say otherwise it has %d buyers, and the work under the lock takes %s",
			trial.UsualBuyers, trial.UsualHold))
	}
	return notes
}

func parameters(p workloads.Params) []run.Parameter {
	wait := "until granted"
	if p.Wait > 0 {
		wait = p.Wait.String()
	}
	return []run.Parameter{
		{Name: "clients", Value: fmt.Sprint(p.Clients), Text: "at once, in a closed loop: each thinks, acquires, works, releases"},
		{Name: "processes", Value: fmt.Sprint(p.Processes), Text: "locks that the clients are spread over"},
		{Name: "duration", Value: p.Duration.String(), Text: "of each trial; what is under way then is finished"},
		{Name: "ttl", Value: p.TTL.String(), Text: "the lease that each client requests, if the lock has leases"},
		{Name: "wait", Value: wait, Text: "how long a client waits; in the workload try not at all"},
		{Name: "hold", Value: p.Hold.String(), Text: "intended time inside the critical section; the actual time is measured"},
		{Name: "think", Value: p.Think.String(), Text: "mean time between two iterations, uniform from 0 to twice that"},
		{Name: "keys", Value: fmt.Sprintf("%d, %s", p.Keys, p.Spread), Text: "different locks, and how clients choose among them"},
		{Name: "seed", Value: fmt.Sprint(p.Seed), Text: "of all randomness but the machine's own timing"},
	}
}

// checkServers returns an error if there are no servers on which the locks can run. It is called before anything is written.
func (r *Runner) checkServers(ctx context.Context) error {
	if r.servers.How != servers.External { // the user starts external servers, so a missing store is no problem
		if err := choice.Required(r.missing); err != nil {
			return err
		}
	}
	if len(storesOf(r.cells)) == 0 && len(r.notes) > 0 { // every lock that needs a store was left out; the notes give the reasons
		err := errors.New(strings.Join(r.notes, "; "))
		switch {
		case r.servers.How == servers.External:
			return console.Usage(err, choice.HintOwn)
		case len(r.missing) > 0:
			return console.Environment(err, "a store is missing: "+stores.Provide(r.missing[0]))
		}
		return console.Usage(err, "lockbench run --help says where locks can run")
	}
	if r.servers.How == servers.External {
		r.notes = append(r.notes, "the counters of your own servers include other clients of these servers")
	}
	return r.preflight(ctx)
}

// preflight starts a server of each store once, so that a missing store is reported before anything is written.
func (r *Runner) preflight(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return console.Environment(err, "some servers are this program itself")
	}
	if names := storesOf(r.cells); r.servers.How != servers.External && len(names) > 0 {
		fmt.Fprintf(r.stderr, "servers: starting on loopback: %s\n", strings.Join(names, ", "))
	}
	errs := make([]error, len(r.cells))
	var all sync.WaitGroup
	for i, c := range r.cells {
		spec := servers.Spec{How: r.servers.How, Store: c.Lock.Store, Deployment: c.On(), Remote: r.servers.Remote, Self: self}
		if spec.Store == "" || slices.ContainsFunc(r.cells[:i], func(o trial.Cell) bool { return o.Lock.Store == spec.Store }) {
			continue
		}
		if spec.Store == servers.Redis && len(r.servers.Remote.Of(servers.Redis)) == choice.Five {
			spec.Deployment = servers.Five
		}
		all.Go(func() {
			_, giveBack, err := r.pool.Lend(ctx, spec)
			if err == nil {
				err = giveBack()
			}
			errs[i] = err
		})
	}
	all.Wait()
	if r.servers.How == servers.External {
		errs = append(errs, r.pool.Close())
	}
	switch err := errors.Join(errs...); {
	case err != nil && ctx.Err() != nil:
		return &console.Exit{Code: console.ExitInterrupted}
	case err != nil && r.servers.How == servers.External:
		return choice.Unreached(err)
	case err != nil:
		return console.Environment(err, "--servers embedded needs no server; see lockbench run --help")
	}
	return nil
}

func (r *Runner) sayServers() {
	if r.servers.How == servers.External {
		fmt.Fprintf(r.stderr, "servers: your own, %s; every key begins with\n         %s and is removed after its trial\n",
			choice.Shown(r.servers.Remote), servers.KeyPrefix(r.setting.Run))
	}
	switch {
	case r.manifest.Servers != servers.Embedded || !slices.Contains(storesOf(r.cells), servers.Redis):
	case r.servers.How == servers.Auto:
		fmt.Fprintln(r.stderr, "servers: no redis-server on the PATH, so the embedded emulator is used; do not compare its latencies")
		fmt.Fprintln(r.stderr, "hint: for real figures, apt install redis-server")
	default:
		fmt.Fprintln(r.stderr, "servers: the embedded emulator of Redis; do not compare its latencies")
	}
}
