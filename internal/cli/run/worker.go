package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/drive/workers"
	"lockbench/internal/suggest"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

const hintWorker = "docs/reference/worker-protocol.md describes what a worker reads and writes; lockbench worker is one"

// describeWorker returns the lock of the user's worker. It asks the worker for a description, starts servers of the store that
// the description names, and tries the lock on them once.
func (f *flags) describeWorker(ctx context.Context) (impls.Impl, error) {
	own := impls.Impl{Program: &impls.Program{Command: []string{"/bin/sh", "-c", "exec " + f.worker}}}
	k, err := children.New()
	if err != nil {
		return own, console.Environment(err, hintWorker)
	}
	ready, err := workers.Describe(ctx, k, own.Program.Command, f.lockParams)
	if err == nil && ready.Version > 1 {
		own.Program.Version = ready.Version
		apply(&own, ready)
	} else if ready.Version < 2 && ctx.Err() == nil { // a worker of protocol version 1 describes itself only after it has been told its servers
		own.Program.Version, err = 1, nil
	}
	if err == nil {
		err = f.place(&own, ready)
	}
	if err == nil {
		err = f.warmUp(ctx, k, &own)
	}
	if err = errors.Join(err, k.Close()); err != nil {
		var exit *console.Exit
		if !errors.As(err, &exit) {
			err = console.Environment(err, hintWorker)
		}
		return own, err
	}
	if !f.observe {
		own.Expect = expect.Override(expect.Default(own), own.Expect)
	}
	return own, nil
}

// apply sets the fields of a lock from the description that its worker process sent.
func apply(own *impls.Impl, r worker.Ready) {
	can := func(capability string) bool { return slices.Contains(r.Capabilities, capability) }
	own.Name, own.Doc = r.Name, r.Doc
	own.Reentrant, own.Renews, own.Fences = can(worker.CanReenter), can(worker.CanRenewSelf), can(worker.CanFence)
	own.Notifies, own.Session, own.Extends = can(worker.CanNotify), can(worker.IsSession), can(worker.CanRenew)
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
func (f *flags) place(own *impls.Impl, r worker.Ready) error {
	store := cmp.Or(f.store, r.Store, servers.Redis)
	if store == worker.NoStore {
		return nil
	}
	if err := choice.OneOf("store", store, append(stores.Names(), worker.NoStore)); err != nil {
		return err
	}
	own.Store, own.Deployment = store, cmp.Or(f.deployment, r.Deployment, servers.Single)
	return choice.OneOf("deployment of "+store, own.Deployment, stores.Deployments(store))
}

// warmUp runs the user's lock once. It completes the description of the lock, and adapts the trials to a slow runtime.
func (f *flags) warmUp(ctx context.Context, k *children.Keeper, own *impls.Impl) error {
	g := &servers.Group{}
	if own.Store != "" {
		self, err := os.Executable()
		if err != nil {
			return console.Environment(err, "some servers are this program itself")
		}
		g, err = stores.Start(ctx, servers.Spec{How: f.servers.How, Store: own.Store, Deployment: own.Deployment, Remote: f.servers.Remote, Self: self})
		if err != nil {
			return console.Environment(err, "the worker needs servers to work on")
		}
	}
	id := choice.RunID()
	pace, err := f.tryOut(ctx, k, own, worker.Open{Nodes: g.Front(), CAFile: f.servers.Remote.CAFile, Prefix: servers.KeyPrefix(id), Params: f.lockParams})
	if err = errors.Join(err, g.Sweep(id), g.Stop()); err == nil {
		f.adapt(own, pace)
	}
	return err
}

// pace holds times measured when a worker is first used, which show whether its runtime is slow.
type pace struct {
	start time.Duration // time from the start of the worker process until it wrote its first line of output
	ping  time.Duration // 90th percentile of the round-trip time of a ping
}

const (
	pings     = 100
	pingEvery = 3 * time.Millisecond
)

// tryOut starts one worker process and uses its lock once. It finds out whether the lock has a lease, and measures how fast
// the worker starts and answers.
func (f *flags) tryOut(ctx context.Context, k *children.Keeper, own *impls.Impl, open worker.Open) (m pace, err error) {
	began := time.Now()
	ttl := own.Granting(max(f.params.TTL, faults.UsualTTL))
	open.TTLMS = ttl.Milliseconds()
	p, err := workers.Start(ctx, k, *own.Program, open, nil)
	if err != nil {
		return m, err
	}
	defer func() {
		if err = errors.Join(err, p.Close()); err != nil {
			err = fmt.Errorf("the worker %s: %w", p.Ready.Name, err)
		}
	}()
	m.start = time.Since(began)
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
	m.ping, err = slowestOfMost(ctx, p)
	return m, err
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
	slowStart = time.Second           // a runtime that takes at least this long to start is slow
	slowPing  = 10 * time.Millisecond // a runtime that takes at least this long to answer a ping is slow
	slowTTL   = 2 * faults.UsualTTL   // shortest lease in trials with a fault if the worker's language runtime is slow
)

// adapt changes the settings if the worker's language runtime is slow. Trials then run one at a time, and trials with a fault
// use longer leases. Without these changes, a stalled process could delay a holder too long, and the trial would be discarded.
// A value that the user set with a flag is kept.
func (f *flags) adapt(own *impls.Impl, m pace) {
	if m.start < slowStart && m.ping < slowPing {
		return
	}
	if f.jobs == 0 {
		f.jobs = 1
	}
	if f.faultTTL == 0 {
		f.faultTTL = own.Granting(max(slowTTL, 50*m.ping).Round(100 * time.Millisecond))
	}
	f.notes = append(f.notes, fmt.Sprintf("%s started in %v and answers a ping in %v: --jobs %d, and --ttl %v under faults",
		own.Name, m.start.Round(100*time.Millisecond), m.ping.Round(time.Millisecond), f.jobs, f.faultTTL))
}

func expectations(all []worker.Expectation) (into []impls.Expectation, err error) {
	for _, e := range all {
		one, err := e.OfLock()
		if err != nil {
			return nil, err
		}
		into = append(into, one)
	}
	return into, nil
}

// checkReady returns an error if the first line of a worker contains an unknown name. An expectation with a misspelt name
// would never be checked.
func checkReady(r worker.Ready) error {
	if slices.Contains(choice.Locks.Names(), r.Name) {
		return errors.New("a lock of lockbench has that name already")
	}
	for _, e := range r.Expectations {
		e.Fault, e.Workload = cmp.Or(e.Fault, faults.None().Name), cmp.Or(e.Workload, "counter")
		for _, n := range []struct {
			field, text string
			known       []string
		}{
			{"property", e.Property, choice.Properties.Names()}, {"fault", e.Fault, choice.Faults.Names()},
			{"workload", e.Workload, choice.Workloads.Names()},
		} {
			if !slices.Contains(n.known, n.text) {
				return fmt.Errorf("an expectation in its first line has the unknown %s %q%s", n.field, n.text, suggest.Meant(n.text, n.known))
			}
		}
	}
	return nil
}
