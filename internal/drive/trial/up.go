package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
	"lockbench/impls/worker"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// up starts the servers, opens the locks and connects every client. So no recorded acquire includes the time to connect.
func (t *trial) up(ctx context.Context) error {
	if err := t.start(ctx); err != nil {
		return err
	}
	open := t.openHere
	if t.InProcesses() {
		open = t.openApart
	}
	if err := open(ctx); err != nil {
		return err
	}
	last := t.Params.Processes
	t.processes, t.fresh = t.processes[:last], t.processes[last]
	return t.connect(ctx)
}

func (t *trial) start(ctx context.Context) error {
	if t.Lock.Store == "" {
		return nil
	}
	g, giveBack, err := t.servers(ctx)
	if err != nil {
		return err
	}
	t.group = g
	t.later(giveBack)
	if t.Params.Part.Whole() { // otherwise the coordinator removes the keys, when all machines have ended
		t.later(func() error { return g.Sweep(t.Run) })
	}
	return g.OrderByKey(ctx, t.storeKey())
}

// servers returns running servers for the trial, and a function that stops them or returns them to the pool.
func (t *trial) servers(ctx context.Context) (*servers.Group, func() error, error) {
	spec := t.spec(t.Servers, t.Remote)
	spec.Self = t.Self
	if t.Lend != nil && (t.Fault.Kind != faults.Servers || t.stage != nil) {
		return t.Lend(ctx, spec)
	}
	g, err := stores.Start(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	return g, g.Stop, nil
}

// storeKey returns the name of the first key in the store, including all prefixes.
func (t *trial) storeKey() string { return t.prefix + t.names + t.Params.KeyNames()[0] }

func (t *trial) openHere(context.Context) error {
	register := t.Workload.Register()
	for process := range t.Params.Processes + 1 {
		if !t.here(process) {
			t.processes = append(t.processes, workloads.Process{})
			continue
		}
		lock, err := t.open(process)
		if err != nil {
			return err
		}
		t.processes = append(t.processes, workloads.Process{Lock: lock, Resource: register})
	}
	return nil
}

// here reports whether a process runs on this machine. The last process is that of the final check, which needs the whole trial.
func (t *trial) here(process int) bool {
	if process == t.Params.Processes {
		return t.Params.Part.Whole()
	}
	return t.Params.Part.Owns(process)
}

// open opens a lock and registers its Close to be called at the end of the trial.
func (t *trial) open(process int) (impls.Lock, error) {
	lock, err := t.Lock.Open(impls.Env{Nodes: t.group.Front(), CAFile: t.Remote.CAFile, Prefix: t.prefix, Process: process,
		Params: t.LockParams, Rand: impls.NewRand(t.Params.Seed, uint64(process)), Renewed: t.watch.Renewed, Dial: t.Dial, Tally: t.Tally})
	if err == nil {
		t.later(lock.Close)
	}
	return lock, err
}

// opening returns the settings that a worker process reads as its first line.
func (t *trial) opening(process int, nodes []string) worker.Open {
	return worker.Open{Lock: t.Lock.Name, Nodes: nodes, CAFile: t.Remote.CAFile, Prefix: t.prefix, Process: process,
		Seed: t.Params.Seed, TTLMS: t.Params.TTL.Milliseconds(), Params: t.LockParams}
}

const (
	connectTimeout = 10 * time.Second // time limit for the first acquire of each client, and for reading the counters
	connectTries   = 20
	connectAgain   = 50 * time.Millisecond // delay between two tries
)

// connect makes every client acquire and release a lock at the same time, each with a separate key. Thus all connections
// are open before the trial begins.
func (t *trial) connect(ctx context.Context) error {
	err := servers.Each(t.Params.Clients+1, func(c int) error {
		p, name := t.fresh, fmt.Sprint("connect", c)
		if c < t.Params.Clients {
			p = t.processes[c%t.Params.Processes]
		}
		if p.Lock == nil {
			return nil // it runs on another machine
		}
		if err := warm(ctx, p.Resource, name); err != nil {
			return err
		}
		_, err := FirstUse(ctx, p.Lock, name, t.Params.TTL)
		return err
	})
	return err
}

// warm uses the guarded resource once. In a cold runtime, the first use can take hundreds of milliseconds. This must not
// happen during a hold.
func warm(ctx context.Context, r workloads.Resource, key string) error {
	if r == nil {
		return nil
	}
	value, err := r.Read(ctx, key, 0)
	return errors.Join(err, r.Write(ctx, key, value, 0))
}

// FirstUse acquires and releases a key, and returns the hold. Connecting may take longer than the lock's timeout, so it
// retries with another key after an error. It stops after 20 tries or ten seconds.
func FirstUse(ctx context.Context, lock impls.Lock, who string, ttl time.Duration) (h impls.Hold, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for try := 0; try < connectTries && ctx.Err() == nil; try++ {
		name := fmt.Sprintf("%s.%d", who, try)
		h, err = lock.Acquire(ctx, impls.Request{Key: name, Owner: name, TTL: ttl})
		if err == nil {
			err = lock.Release(ctx, h.Grant)
		}
		if err == nil || errors.Is(err, impls.ErrNotHeld) { // some known-broken locks return ErrNotHeld from Release
			return h, nil
		}
		waiting.Pause(ctx, connectAgain)
	}
	return h, fmt.Errorf("a first acquire and release: %w", cmp.Or(err, ctx.Err()))
}

// later adds a cleanup function. At the end of the trial, down calls the added functions in reverse order.
func (t *trial) later(do func() error) { t.release = append(t.release, do) }

func (t *trial) down() error {
	var errs []error
	for _, do := range slices.Backward(t.release) {
		errs = append(errs, do())
	}
	return errors.Join(errs...)
}

// counted is the content of counters.json: the server counters before and after the workload. Both maps are nil if the
// servers have no counters.
type counted struct {
	Server string             `json:"server"`
	Store  string             `json:"store,omitempty"`
	Before map[string]float64 `json:"before"`
	After  map[string]float64 `json:"after"`
	// Network counts the traffic between processes and servers, if the trial ran behind proxies.
	Network map[string]float64 `json:"network,omitempty"`
}

// counting reads the counters of the servers before and after it calls do. It returns both readings and the network
// traffic between them.
func (t *trial) counting(ctx context.Context, g *servers.Group, do func()) (c counted, err error) {
	ctx = context.WithoutCancel(ctx) // read the counters even after an interrupt
	read := func() (map[string]float64, error) {
		all, err := Counters(ctx, g)
		if err != nil && t.faulty() {
			return nil, nil // after a fault, a server may be down or may have lost its counters
		}
		return all, err
	}
	passed := t.world.network()
	c.Server, c.Store = g.Server, t.Lock.Store
	if c.Before, err = read(); err == nil {
		// The requests of the observation are not counted. Requests still in progress are counted, so no difference is
		// negative.
		before := t.seen.Counters()
		do()
		observed := subtract(before, t.seen.Counters())
		if c.After, err = read(); c.After != nil {
			c.After = subtract(observed, c.After)
		}
	}
	c.Network = subtract(passed, t.world.network())
	return c, err
}

// Counters returns the sums of the counters over all servers of a group, or nil if the servers have no counters.
func Counters(ctx context.Context, g *servers.Group) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if len(g.Nodes) == 0 {
		return nil, nil
	}
	sum := map[string]float64{}
	for _, n := range g.Nodes {
		c, err := n.Counters(ctx)
		if errors.Is(err, servers.ErrNoCounters) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("the server's counters: %w", err)
		}
		for name, value := range c {
			sum[name] += value
		}
	}
	return sum, nil
}

// write writes a file of the trial. A trial in memory has no folder and writes no files.
func (t *trial) write(name string, v any) error {
	if t.dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.dir, name), append(text, '\n'), 0o644)
}
