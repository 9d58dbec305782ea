package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/workloads"
)

// Trial is a lock, what is done with it and what goes wrong meanwhile: all that a history in virtual time depends on.
type Trial struct {
	Lock         impls.Impl
	Deployment   string // single, five, five-delayed, replica or two-replicas; "": the lock's usual one
	Workload     workloads.Workload
	Params       workloads.Params // Seed decides delays and tokens too
	LockParams   map[string]string
	Fault        string // what the history calls it; expectations are of this name
	Plan         faults.Plan
	Expectations []histories.Expectation // what is expected; nil: what is said of the fault
	slow         bool                    // the emulator runs scripts itself, which costs more
}

// oneWay is how long a message takes on average, one way: about what it does through a proxy on one machine.
const oneWay = 200 * time.Microsecond

// prefix is what keys begin with.
const prefix = "sim:"

// connectWithin bounds the first acquires of the clients.
const connectWithin = 10 * time.Second

// Recorded is the result of a trial.
type Recorded struct {
	*histories.Memory
	Void    string          // why it does not count; "": it does
	Strikes []inject.Strike // what went wrong
}

// Record runs the trial in virtual time and keeps its history in memory: the same for the same trial if one processor is
// used (GOMAXPROCS=1). It must not be called in a bubble. The error says that the trial cannot be simulated (see Refused),
// that the lock could not be opened, panicked, or left something running.
func (t Trial) Record() (Recorded, error) {
	var m *histories.Memory
	r, err := t.record(func(h histories.Header) (rec *histories.Recorder, _ error) {
		rec, m = histories.NewMemory(h, t.Params.Logs())
		return rec, nil
	})
	r.Memory = m
	return r, err
}

// Run is Record with a file instead of memory. void is why it does not count, "" if it does.
func (t Trial) Run(w io.Writer) (void string, err error) {
	r, err := t.record(func(h histories.Header) (*histories.Recorder, error) {
		return histories.NewRecorder(w, h, t.Params.Logs())
	})
	return r.Void, err
}

func (t Trial) record(begin func(histories.Header) (*histories.Recorder, error)) (r Recorded, err error) {
	if err := t.Refused(); err != nil {
		return r, err
	}
	bubbleErr := inBubble(func() { r, err = t.run(begin) })
	return r, errors.Join(err, bubbleErr)
}

// servers holds how many servers of a deployment a lock asks.
var servers = map[string]int{"": 0, "single": 1, "replica": 1, "two-replicas": 1, "five": 5, "five-delayed": 5}

// Refused returns why the trial cannot be simulated, nil if it can.
func (t Trial) Refused() error {
	_, known := servers[t.On()]
	switch {
	case t.Lock.Open == nil:
		return fmt.Errorf("%s is a program: its time is the system's", t.Lock.Name)
	case t.Lock.Store != "" && t.Lock.Store != "redis":
		return fmt.Errorf("%s talks to %s, and virtual time has an emulator of Redis only", t.Lock.Name, t.Lock.Store)
	case t.Lock.Tracks:
		return fmt.Errorf("%s has its server track what it has read, and the emulator tracks nothing", t.Lock.Name)
	case t.Lock.ThirdParty: // go-redis, at its defaults, pauses for a random time before it sends a command again
		return fmt.Errorf("%s is a library of others, with randomness of its own: the same seed would not tell the same story", t.Lock.Name)
	case t.Lock.Deployment == "replica":
		return fmt.Errorf("%s relies on WAIT, and the emulator's waits for nothing", t.Lock.Name)
	case t.Workload.Served:
		return fmt.Errorf("%s is served over HTTP by other processes, whose time is the system's", t.Workload.Name)
	case t.On() == "durable":
		return errors.New("durable is not simulated: the emulator has no disk")
	case t.On() == "sentinel":
		return errors.New("sentinel is not simulated: the emulator has no Sentinels")
	case !known:
		return fmt.Errorf("the deployment %s is not simulated", t.On())
	}
	for _, s := range t.Plan.Steps {
		if err := t.refusedStep(s.Do); err != nil {
			return err
		}
	}
	return nil
}

// verbs lists what can be done in virtual time.
var verbs = []faults.Verb{faults.Stall, faults.Abandon, faults.GiveUp, faults.Pause, faults.Kill, faults.Delay, faults.Lose,
	faults.Cut, faults.Slow, faults.Mute, faults.Restart, faults.Down, faults.Freeze, faults.Unlink, faults.Failover, faults.Jump, faults.Drift, faults.Evict}

func (t Trial) refusedStep(a faults.Action) error {
	if !slices.Contains(verbs, a.Verb) {
		return fmt.Errorf("nobody knows how to %s in virtual time", a.Verb)
	}
	replicas := a.Verb == faults.Unlink || a.Verb == faults.Failover
	if replicas && t.On() != "replica" && t.On() != "two-replicas" {
		return fmt.Errorf("%s needs a deployment with a replica, and %q has none", a.Verb, t.On())
	}
	if replicas && len(a.Nodes) == 0 {
		return fmt.Errorf("%s befalls no replica", a.Verb)
	}
	for _, n := range a.Nodes {
		if !replicas && (n < 0 || n >= servers[t.On()]) {
			return fmt.Errorf("%s befalls server %d, and there are %d", a.Verb, n, servers[t.On()])
		}
	}
	if a.Process >= t.Params.Processes || a.Process < 0 && (a.Verb == faults.Pause || a.Verb == faults.Kill) {
		return fmt.Errorf("%s befalls process %d, and there are %d", a.Verb, a.Process, t.Params.Processes)
	}
	return nil
}

// On returns the deployment.
func (t Trial) On() string { return cmp.Or(t.Deployment, t.Lock.Deployment) }

// Supported says why nothing can be run in virtual time with the Go release that this program was built with; nil: it can.
func Supported() error {
	const nap = 48 * time.Hour
	var slept time.Duration
	err := inBubble(func() {
		start := time.Now()
		time.Sleep(nap)
		slept = time.Since(start)
	})
	if err == nil && slept != nap {
		err = fmt.Errorf("a sleep of %v lasted %v", nap, slept)
	}
	if err != nil {
		return fmt.Errorf("virtual time does not work with %s: %w", runtime.Version(), err)
	}
	return nil
}

// inBubble runs f in virtual time. testing is what opens a bubble; nothing of its T is used.
func inBubble(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("in virtual time: %v", p))
		}
	}()
	synctest.Test(&testing.T{}, func(*testing.T) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("in virtual time: %v", p)
			}
		}()
		f()
	})
	return err
}

// run brings everything up, drives, and takes everything down.
func (t Trial) run(begin func(histories.Header) (*histories.Recorder, error)) (r Recorded, err error) {
	watch := workloads.NewWatch()
	world, err := t.up(watch)
	defer func() { err = errors.Join(err, world.close()) }()
	if err == nil {
		err = t.connect(world)
	}
	if err != nil {
		return r, err
	}
	header := t.header()
	rec, err := begin(header)
	if err != nil {
		return r, err
	}
	d := &workloads.Drive{Workload: t.Workload, Params: t.Params, Fresh: world.processes[t.Params.Processes].asWorkload(),
		Recorder: rec, Watch: watch, Renews: t.Lock.Renews, Granted: new(atomic.Int64)}
	d.Fresh.Resource = world.processes[0].resource // the harness reads and writes what is guarded itself
	for _, p := range world.processes[:t.Params.Processes] {
		d.Processes = append(d.Processes, p.asWorkload())
	}
	beating, still := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() { failed <- pulse(beating, rec) }()
	in := inject.New(t.Fault, t.Plan, world, rec)
	d.Director = in
	in.Begin()
	d.Run(context.Background())
	r.Void = in.Finish()
	r.Strikes = in.Strikes()
	d.Epilogue(context.Background(), header.FreedWithin())
	still()
	return r, errors.Join(<-failed, rec.Close())
}

// up brings up servers, and opens one lock per process and one for the epilogue.
func (t Trial) up(watch *workloads.Watch) (*world, error) {
	w := &world{net: newNetwork(servers[t.On()], t.Params.Processes+1, oneWay, t.Params.Seed), clients: t.Params.Clients,
		key: prefix + t.Params.KeyNames()[0], copies: map[int]contents{}}
	for _, n := range w.net.nodes {
		n.slow = t.slow
	}
	register := t.Workload.Register()
	stops := slices.ContainsFunc(t.Plan.Steps, func(s faults.Step) bool { return s.Do.Verb == faults.Pause })
	for i := range t.Params.Processes + 1 {
		p, err := open(t.Lock, impls.Env{Nodes: w.net.URLs(), Dial: w.net.Dialer(i), Prefix: prefix, Process: i, Params: t.LockParams,
			Rand: impls.NewRand(t.Params.Seed, uint64(i)), Renewed: watch.Renewed}, w.net.processes[i], register, stops)
		if err != nil {
			return w, err
		}
		w.processes = append(w.processes, p)
	}
	return w, nil
}

// connect has every client, and the epilogue's, take and release a key of its own, so that connections are there and scripts are known to
// the servers before anything is counted.
func (t Trial) connect(w *world) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectWithin)
	defer cancel()
	for c := range t.Params.Clients + 1 {
		lock, name := w.processes[c%t.Params.Processes].lock, fmt.Sprintf("connect%d", c)
		if c == t.Params.Clients {
			lock = w.processes[t.Params.Processes].lock
		}
		h, err := lock.Acquire(ctx, impls.Request{Key: name, Owner: name, TTL: t.Params.TTL})
		if err == nil {
			err = lock.Release(ctx, h.Grant)
		}
		if err != nil && !errors.Is(err, impls.ErrNotHeld) { // a defective lock may answer so; no other client has the key
			return fmt.Errorf("a first acquire and release: %w", err)
		}
	}
	return nil
}

func (t Trial) header() histories.Header {
	p := t.Params
	expected := t.Expectations
	if expected == nil {
		expected = workloads.Expectations(t.Lock, t.Workload, t.Fault, t.On(), p)
	}
	return histories.Header{Run: "sim", Lock: t.Lock.Name, Deployment: t.On(), Workload: t.Workload.Name, Fault: t.Fault,
		Server: "emulators in virtual time", Clients: p.Clients, Processes: p.Processes, Simulated: true, Seed: p.Seed,
		Params: map[string]string{"hold": p.Hold.String(), "think": p.Think.String(), "register": string(t.Workload.Checks())},
		TTL:    histories.Nanos(p.TTL), BackOff: histories.Nanos(t.Lock.BackOff), Exact: t.Lock.ExactTry,
		Expectations: expected}
}

// markEvery is as in a trial in real time, in whole rounds of the instants.
const markEvery = 500 * time.Millisecond / quantum * quantum

// pulse marks the recorder at instants that no other event has. In virtual time the harness never stalls.
func pulse(ctx context.Context, rec *histories.Recorder) error {
	timer := time.NewTimer((reserved - 1) * time.Nanosecond)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return rec.Mark(0)
		case <-timer.C:
		}
		if err := rec.Mark(0); err != nil {
			return err
		}
		timer.Reset(markEvery)
	}
}
