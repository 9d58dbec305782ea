package choice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/worker"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/drive/workers"
	"lockbench/internal/fleet"
	"lockbench/internal/suggest"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

const hintWorker = "docs/reference/worker-protocol.md describes what a worker reads and writes; lockbench worker is one"

// Worker holds the flags that describe a user's own lock.
type Worker struct {
	Command    string // shell command that starts the worker; "": no own lock
	Library    string // third-party library in impls/libraries that Install installs, as NAME or NAME@VERSION
	Store      string // store of the lock; "": the store that the worker names
	Deployment string // deployment of the lock; "": the deployment that the worker names
	Observe    bool   // whether to ignore all expectations of the lock
}

// Define defines the flags --worker, --library, --store, --deployment and --observe.
func (w *Worker) Define(fl *pflag.FlagSet) {
	fl.StringVar(&w.Command, "worker", "", "command of your own lock")
	fl.StringVar(&w.Library, "library", "", "third-party library instead of your own lock, as NAME[@VERSION]")
	fl.StringVar(&w.Store, "store", "", "store of your own lock (the one that it names)")
	fl.StringVar(&w.Deployment, "deployment", "", "deployment of your own lock (the one that it names)")
	fl.BoolVar(&w.Observe, "observe", false, "expect nothing of your own lock")
}

// Refusals returns usage errors: a flag that needs --worker is set without it, or --worker is set with --locks.
func (w *Worker) Refusals(locks []string) []console.Refusal {
	none := !w.Given()
	return []console.Refusal{
		{If: w.Command != "" && w.Library != "", What: "--library takes the place of --worker", Hint: "leave out one of the two"},
		{If: !none && len(locks) > 0, What: "--worker takes the place of --locks", Hint: "leave out one of the two"},
		{If: none && w.Deployment != "", What: "--deployment is for the lock of --worker"},
		{If: none && w.Store != "", What: "--store is for the lock of --worker"},
		{If: none && w.Observe, What: "--observe is for the lock of --worker"},
	}
}

// Portable returns the description of the lock for another machine: the library of --library, or else the command.
func (w *Worker) Portable() *Worker {
	portable := *w
	if w.Library != "" {
		portable.Command = ""
	}
	return &portable
}

// Given reports whether the flags name a lock of the user or a library.
func (w *Worker) Given() bool { return w.Command != "" || w.Library != "" }

// Install installs the library of --library and sets the command that starts its worker. Without --library it does nothing.
func (w *Worker) Install(ctx context.Context, stderr io.Writer) error {
	if w.Library == "" {
		return nil
	}
	c, err := Library(w.Library)
	if err != nil {
		return err
	}
	folder, err := InstallLibrary(ctx, stderr, c, io.Discard)
	if err != nil {
		return err
	}
	w.Command, w.Store = c.Command(folder), cmp.Or(w.Store, c.Library.Store)
	return nil
}

// OnAgent returns the lock on an agent, for a coordinator elsewhere. The command must be one of the allowed ones. A library is one that
// this program knows, and is installed.
func (w Worker) OnAgent(ctx context.Context, allowed []string, use First) (own impls.Impl, err error) {
	if w.Library == "" && !slices.Contains(allowed, w.Command) {
		return own, fmt.Errorf("%w: the command %q of the worker is not allowed there", fleet.ErrRefused, w.Command)
	}
	if err := w.Install(ctx, io.Discard); err != nil {
		return own, err
	}
	own, _, err = w.Describe(ctx, use)
	return own, err
}

// First describes the servers, the parameters and the lease with which a user's lock is used for the first time.
type First struct {
	Servers Servers
	Params  map[string]string
	TTL     time.Duration
}

// Describe returns the lock of the user's worker. It asks the worker for a description, starts servers of the store that the
// description names, and uses the lock on them once. The returned Pace shows whether the worker's runtime is slow.
func (w *Worker) Describe(ctx context.Context, use First) (own impls.Impl, pace Pace, err error) {
	own = impls.Impl{Program: &impls.Program{Command: []string{"/bin/sh", "-c", "exec " + w.Command}}}
	k, err := children.New()
	if err != nil {
		return own, pace, console.Environment(err, hintWorker)
	}
	ready, err := workers.Describe(ctx, k, own.Program.Command, use.Params)
	if err == nil && ready.Version > 1 {
		own.Program.Version = ready.Version
		apply(&own, ready)
	} else if ready.Version < 2 && ctx.Err() == nil { // a worker of protocol version 1 needs the addresses of its servers before it describes itself
		own.Program.Version, err = 1, nil
	}
	if err == nil {
		err = w.place(&own, ready)
	}
	if err == nil {
		pace, err = use.warmUp(ctx, k, &own)
	}
	if err = errors.Join(err, k.Close()); err != nil {
		var exit *console.Exit
		if !errors.As(err, &exit) {
			err = console.Environment(err, hintWorker)
		}
		return own, pace, err
	}
	if !w.Observe {
		own.Expect = expect.Override(expect.Default(own), own.Expect)
	}
	return own, pace, nil
}

// apply sets the fields of a lock from the description that its worker process sent.
func apply(own *impls.Impl, r worker.Ready) {
	can := func(capability string) bool { return slices.Contains(r.Capabilities, capability) }
	own.Name, own.Doc = r.Name, r.Doc
	own.Reentrant, own.Renews, own.Fences = can(worker.CanReenter), can(worker.CanRenewSelf), can(worker.CanFence)
	own.Notifies, own.Session, own.Extends = can(worker.CanNotify), can(worker.IsSession), can(worker.CanRenew)
	own.ReportsLoss = can(worker.CanTellLoss)
	own.BackOff = time.Duration(r.BackOffMS) * time.Millisecond
	own.Shortest = time.Duration(r.ShortestMS) * time.Millisecond
	p := own.Program
	p.Start, p.Step = time.Duration(r.StartMS)*time.Millisecond, time.Duration(r.StepMS)*time.Millisecond
	if r.Version > 1 { // keep the defaults for protocol version 1: its workers report every renewal, and may support cancelling an acquire
		p.SilentRenewals, p.WaitsInside = own.Renews, can(worker.CanWait)
		p.CannotCancel, p.Rereleases = !can(worker.CanCancel), can(worker.CanRerelease)
	}
	for _, e := range r.Expectations {
		one, _ := e.OfLock() // the error is always nil, because ReadReady has already checked the expectation
		own.Expect = append(own.Expect, one)
	}
}

// place sets the store and the deployment of the user's lock.
func (w *Worker) place(own *impls.Impl, r worker.Ready) error {
	store := cmp.Or(w.Store, r.Store, servers.Redis)
	if store == worker.NoStore {
		return nil
	}
	if err := OneOf("store", store, append(stores.Names(), worker.NoStore)); err != nil {
		return err
	}
	own.Store, own.Deployment = store, cmp.Or(w.Deployment, r.Deployment, servers.Single)
	return OneOf("deployment of "+store, own.Deployment, stores.Deployments(store))
}

// warmUp uses the lock of the worker once, on servers of its store. It completes the description of the lock and
// measures the speed of the worker.
func (use First) warmUp(ctx context.Context, k *children.Keeper, own *impls.Impl) (m Pace, err error) {
	g := &servers.Group{}
	if own.Store != "" {
		self, err := os.Executable()
		if err != nil {
			return m, console.Environment(err, "some servers are this program itself")
		}
		g, err = stores.Start(ctx, servers.Spec{How: use.Servers.How, Store: own.Store, Deployment: own.Deployment, Remote: use.Servers.Remote, Self: self})
		if err != nil {
			return m, console.Environment(err, "the worker needs servers to work on")
		}
	}
	id := RunID()
	m, err = use.tryOut(ctx, k, own, worker.Open{Nodes: g.Front(), CAFile: use.Servers.Remote.CAFile, Prefix: servers.KeyPrefix(id), Params: use.Params})
	return m, errors.Join(err, g.Sweep(id), g.Stop())
}

// Pace holds times measured when a worker is first used, which show whether its runtime is slow.
type Pace struct {
	Start time.Duration // time from the start of the worker process to its first line of output
	Ping  time.Duration // 90th percentile of the round-trip time of a ping
}

const (
	pings     = 100
	pingEvery = 3 * time.Millisecond
)

// tryOut starts one worker process and uses its lock once. It finds out whether the lock has a lease and whether the clock
// of its process can be moved, and measures how fast the worker starts and answers.
func (use First) tryOut(ctx context.Context, k *children.Keeper, own *impls.Impl, open worker.Open) (m Pace, err error) {
	began := time.Now()
	ttl := own.Granting(max(use.TTL, faults.UsualTTL))
	open.TTLMS = ttl.Milliseconds()
	start := workers.Start
	clock, noClock := workers.NewClock(ctx, k)
	if noClock == nil {
		start = clock.Start
		defer func() { err = errors.Join(err, clock.Close()) }()
	}
	p, err := start(ctx, k, *own.Program, open, nil)
	if err != nil {
		return m, err
	}
	defer func() {
		if err = errors.Join(err, p.Close()); err != nil {
			err = fmt.Errorf("the worker %s: %w", p.Ready.Name, err)
		}
	}()
	m.Start = time.Since(began)
	if own.Program.Version == 1 {
		apply(own, p.Ready)
	}
	if err := checkReady(p.Ready); err != nil {
		return m, err
	}
	if p.Ready.Name != own.Name {
		return m, fmt.Errorf("it named itself %s in its description", own.Name)
	}
	h, err := trial.FirstUse(ctx, p.Lock(), "warm-up", ttl)
	if err != nil {
		return m, cmp.Or(p.Failed(), err)
	}
	own.Leased = h.Validity > 0
	if m.Ping, err = slowestOfMost(ctx, p); err != nil {
		return m, err
	}
	if noClock == nil {
		noClock = p.MoveClock(ctx, time.Hour) // the process is not used afterwards
	}
	if noClock != nil {
		own.Program.FixedClock = "the clock of its process cannot be moved: " + noClock.Error()
	}
	return m, nil
}

// slowestOfMost returns the 90th percentile of the round-trip time of a ping.
func slowestOfMost(ctx context.Context, p *workers.Process) (time.Duration, error) {
	took := make([]time.Duration, pings)
	for i := range took {
		asked := time.Now()
		if err := p.Running(ctx); err != nil {
			return 0, err
		}
		took[i] = time.Since(asked)
		time.Sleep(pingEvery)
	}
	slices.Sort(took)
	return took[pings*9/10], nil
}

const (
	slowStart = 400 * time.Millisecond // minimum start time of a runtime that counts as slow: less than a Java virtual machine needs
	slowPing  = 10 * time.Millisecond  // minimum round-trip time of a ping at which a runtime counts as slow
)

// Slow reports whether the worker's runtime is slow. A stalled process can then delay a holder so long that a trial is
// discarded.
func (p Pace) Slow() bool { return p.Start >= slowStart || p.Ping >= slowPing }

// Lease returns a lease for trials with a fault that suits a slow runtime.
func (p Pace) Lease(own *impls.Impl) time.Duration {
	return own.Granting(max(slowTTL, 50*p.Ping).Round(100 * time.Millisecond))
}

const slowTTL = 2 * faults.UsualTTL // shortest lease in trials with a fault if the runtime is slow

// checkReady returns an error if the first line of a worker contains an unknown name. An expectation with a misspelt name
// would never be checked.
func checkReady(r worker.Ready) error {
	if slices.Contains(Locks.Names(), r.Name) {
		return errors.New("a lock of lockbench has that name already")
	}
	for _, e := range r.Expectations {
		e.Fault, e.Workload = cmp.Or(e.Fault, faults.None().Name), cmp.Or(e.Workload, "counter")
		for _, n := range []struct {
			field, text string
			known       []string
		}{
			{"property", e.Property, Properties.Names()}, {"fault", e.Fault, Faults.Names()},
			{"workload", e.Workload, Workloads.Names()},
		} {
			if !slices.Contains(n.known, n.text) {
				return fmt.Errorf("an expectation in its first line has the unknown %s %q%s", n.field, n.text, suggest.Meant(n.text, n.known))
			}
		}
	}
	return nil
}
