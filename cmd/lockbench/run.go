package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/impls"
	"lockbench/internal/faults"
	"lockbench/internal/servers"
	"lockbench/internal/trial"
	"lockbench/reports"
	"lockbench/workloads"
)

// runFlags are what run was asked to do.
type runFlags struct {
	locks, workloads, faults []string
	noControls               bool
	servers                  string
	redis                    redisFlags
	remote                   servers.Remote // what redis came to
	out                      string
	asJSON                   bool
	lockParams               map[string]string
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

With --redis the locks run on servers of your own. Every key there begins with lockbench:<run>: and is removed
after its trial, nothing else is touched, and the password is written nowhere.`,
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
	fl.StringSliceVar(&f.locks, "locks", nil, "locks to drive (all)")
	fl.StringSliceVar(&f.workloads, "workloads", nil, "workloads to drive them with (all that apply)")
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (none)")
	fl.BoolVar(&f.noControls, "no-controls", false, "do not drive the lock none beside the chosen ones")
	fl.IntVar(&p.Clients, "clients", p.Clients, "concurrent clients")
	fl.IntVar(&p.Processes, "processes", p.Processes, "locks the clients are spread over, each standing for a process")
	fl.DurationVar(&p.Duration, "duration", p.Duration, "how long each trial drives")
	fl.DurationVar(&p.TTL, "ttl", p.TTL, "lease to ask for")
	fl.DurationVar(&p.Wait, "wait", p.Wait, "how long a waiting client waits (0: until granted)")
	fl.DurationVar(&p.Hold, "hold", p.Hold, "time inside the critical section")
	fl.DurationVar(&p.Think, "think", p.Think, "mean time between two iterations of a client")
	fl.IntVar(&p.Keys, "keys", p.Keys, "number of different locks")
	fl.TextVar(&p.Spread, "distribution", p.Spread, "how clients choose among the keys: one, uniform or zipf")
	fl.IntVar(&p.Stock, "stock", p.Stock, "what is for sale of each key in the workload inventory")
	fl.Uint64Var(&p.Seed, "seed", p.Seed, "seed of all randomness")
	fl.StringToStringVar(&f.lockParams, "param", nil, "parameters of the locks, such as wait=backoff (wait=spin)")
	fl.StringVar(&f.servers, "servers", servers.Auto, "where locks run: "+strings.Join(servers.Ways(), ", "))
	f.redis.define(fl, "one, or five for the locks that need five")
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-<name>)")
	fl.BoolVar(&f.asJSON, "json", false, "print results.json instead of the table")
}

// runner is a run about to start.
type runner struct {
	*runFlags
	stdout, stderr io.Writer
	cells          []trial.Cell
	notes          []string // on what was left out, and why
	dir            string
	setting        trial.Setting
	manifest       reports.Manifest
}

// plan turns flags into cells, and finds out what is wrong with them before anything starts.
func (f *runFlags) plan(cmd *cobra.Command) (*runner, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	wanted := f.locks
	if len(wanted) > 0 && !f.noControls {
		wanted = append(slices.Clone(wanted), "none")
	}
	locks, err := choose("lock", impls.All(), func(l impls.Impl) string { return l.Name }, wanted)
	if err != nil {
		return nil, err
	}
	if len(f.locks) == 0 && f.noControls {
		locks = slices.DeleteFunc(locks, func(l impls.Impl) bool { return l.Name == "none" })
	}
	loads, err := choose("workload", workloads.All(), func(w workloads.Workload) string { return w.Name }, f.workloads)
	if err != nil {
		return nil, err
	}
	breaks, err := choose("fault", faults.All(), func(f faults.Fault) string { return f.Name }, f.faults)
	if err != nil {
		return nil, err
	}
	plan := trial.Plan(locks, loads, breaks)
	if len(plan) == 0 {
		return nil, usage(errors.New("nothing to do: none of the workloads applies to any of the locks"),
			"reentrant applies to locks that grant again to their owner")
	}
	r := &runner{runFlags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	r.cells, r.notes = trial.Fitting(plan, f.servers, f.remote)
	if err := r.checkServers(cmd.Context()); err != nil {
		return nil, err
	}
	return r, r.prepare(cmd, locks)
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
	if err := impls.CheckParams(f.lockParams); err != nil {
		return usage(err, hint)
	}
	return f.chooseServers(cmd.Flags().Changed("servers"))
}

// prepare makes the run's folder and writes what is known before the run, so that one that is killed can
// still be reported.
func (r *runner) prepare(cmd *cobra.Command, locks []impls.Impl) error {
	now := time.Now()
	name := "quick"
	if len(r.locks)+len(r.workloads)+len(r.faults) > 0 {
		name = "chosen"
	}
	if err := r.makeFolder(now.Format("20060102-150405") + "-" + name); err != nil {
		return err
	}
	r.setting = trial.Setting{Run: runID(now), Servers: r.servers, Remote: r.remote, Params: r.params, LockParams: r.lockParams}
	r.manifest = reports.Manifest{Name: name, Started: now.UTC(), Command: reproduce(cmd), Seed: r.params.Seed, Servers: servers.Resolve(r.servers),
		Environment: reports.Collect(), Parameters: parameters(r.params),
		Notes: append(r.notes, fmt.Sprintf("the %d processes are simulated: each is a lock of its own, and all run in one process", r.params.Processes))}
	for _, l := range locks {
		r.manifest.Locks = append(r.manifest.Locks, reports.LockDoc{Name: l.Name, Doc: l.Doc})
	}
	for _, c := range r.cells {
		r.manifest.Plan = append(r.manifest.Plan, reports.Cell{Dir: c.Dir(), Lock: c.Lock.Name, Deployment: c.Lock.Deployment,
			Workload: c.Workload.Name, Fault: c.Fault.Name})
	}
	return r.writeManifest()
}

func (r *runner) writeManifest() error {
	if err := reports.WriteManifest(r.dir, r.manifest); err != nil {
		return environment(err, "the folder of the run must be writable: choose another with --out")
	}
	return nil
}

// makeFolder makes the folder of the run: the one that was asked for, which must be empty, or a new one.
func (r *runner) makeFolder(name string) error {
	r.dir = r.out
	if r.dir == "" {
		r.dir = filepath.Join("runs", name)
		for n := 2; exists(r.dir); n++ {
			r.dir = filepath.Join("runs", fmt.Sprintf("%s-%d", name, n))
		}
	}
	if entries, err := os.ReadDir(r.dir); err == nil && len(entries) > 0 {
		return usage(fmt.Errorf("the folder %s is not empty", r.dir), "a run never writes over another: choose a new folder with --out")
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return environment(err, "choose another folder with --out")
	}
	if r.out == "" { // a convenience: where it cannot be made, nothing is lost
		link := filepath.Join("runs", "latest")
		os.Remove(link)
		os.Symlink(filepath.Base(r.dir), link)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// run drives every cell, reports, and returns the exit code as an error.
func (r *runner) run(ctx context.Context) error {
	found := codes{}
	var failed error
	r.sayServers()
	for _, note := range r.notes {
		fmt.Fprintln(r.stderr, "note:", note)
	}
	show := newProgress(r.stderr, len(r.cells))
	for _, c := range r.cells {
		if ctx.Err() != nil {
			break
		}
		granted := show.begin(c.String())
		out, err := r.setting.Try(ctx, c, filepath.Join(r.dir, filepath.FromSlash(c.Dir())), granted)
		show.end(out, err)
		if out.Server != "" { // known only once one ran
			r.manifest.Environment.Server = out.Server
		}
		if err != nil && ctx.Err() == nil {
			failed = err
			break
		}
	}
	r.manifest.Ended, r.manifest.Interrupted = time.Now().UTC(), ctx.Err() != nil
	if failed != nil {
		r.manifest.Warnings = append(r.manifest.Warnings, "the run ended early: "+scrub(failed.Error()))
	}
	if err := r.writeManifest(); err != nil {
		return err
	}
	results, err := reports.Build(r.dir)
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

// sayServers tells where the locks will run, before anything is measured there.
func (r *runner) sayServers() {
	switch {
	case r.servers == servers.External:
		fmt.Fprintf(r.stderr, "servers: your own, %s; every key begins with %s and goes after its trial\n",
			shown(r.remote.Addresses), servers.KeyPrefix(r.setting.Run))
	case r.manifest.Servers != servers.Embedded:
		fmt.Fprintln(r.stderr, "servers: a redis-server of its own for each trial, on loopback")
	case r.servers == servers.Auto:
		fmt.Fprintln(r.stderr, "servers: no redis-server on the PATH, so an embedded emulator stands in; its latencies compare with nothing")
		fmt.Fprintln(r.stderr, "hint: for real figures, apt install redis-server")
	default:
		fmt.Fprintln(r.stderr, "servers: the embedded emulator; its latencies compare with nothing")
	}
}

func (r *runner) print(results *reports.Results) error {
	if r.asJSON {
		return printJSON(r.stdout, results)
	}
	fmt.Fprintln(r.stdout)
	results.Text(r.stdout, isTerminal(r.stdout))
	page := filepath.Join(r.dir, "report", "index.html")
	_, err := fmt.Fprintf(r.stdout, "\npage: %s\n", page)
	return err
}
