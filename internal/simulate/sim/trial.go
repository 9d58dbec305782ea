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

// Trial describes a trial in virtual time. Equal trials record equal histories.
type Trial struct {
	Lock         impls.Impl
	Deployment   string // deployment of the lock; "": the usual one
	Workload     workloads.Workload
	Params       workloads.Params // Params.Seed also determines message delays and the random tokens of owners
	LockParams   map[string]string
	Fault        string // fault name in the history and in expectations
	Plan         faults.Plan
	Expectations []histories.Expectation // nil: Record uses the lock's expectations for the fault
	slow         bool                    // for tests: whether the emulator interprets scripts, instead of the faster function runScript
}

// oneWay is the mean latency of a message, similar to the latency of a proxy on the same machine.
const oneWay = 200 * time.Microsecond

const prefix = "sim:"

const connectTimeout = 10 * time.Second

// Recorded holds the history and the outcome of a trial.
type Recorded struct {
	*histories.Memory
	Discarded string          // reason to discard the trial; "": the trial is valid
	Strikes   []inject.Strike // fault steps that were carried out
}

// Record runs the trial in virtual time and keeps its history in memory. With GOMAXPROCS=1, equal trials have equal
// histories. Record must not be called inside a testing/synctest bubble. It returns an error if the trial cannot be
// simulated (see Refused), or if the lock cannot be opened, panics, or leaves goroutines running.
func (t Trial) Record() (Recorded, error) {
	var m *histories.Memory
	r, err := t.record(func(h histories.Header) (rec *histories.Recorder, _ error) {
		rec, m = histories.NewMemory(h, t.Params.Logs())
		return rec, nil
	})
	r.Memory = m
	return r, err
}

// Run runs the trial and writes its history to w. It returns the reason to discard the trial, or "".
func (t Trial) Run(w io.Writer) (discarded string, err error) {
	r, err := t.record(func(h histories.Header) (*histories.Recorder, error) {
		return histories.NewRecorder(w, h, t.Params.Logs())
	})
	return r.Discarded, err
}

func (t Trial) record(begin func(histories.Header) (*histories.Recorder, error)) (r Recorded, err error) {
	if err := t.Refused(); err != nil {
		return r, err
	}
	bubbleErr := inBubble(func() { r, err = t.run(begin) })
	return r, errors.Join(err, bubbleErr)
}

// serverCount maps each deployment to the number of simulated servers.
var serverCount = map[string]int{"": 0, "single": 1, "replica": 1, "two-replicas": 1, "five": 5, "five-delayed": 5}

// Refused returns the reason why the trial cannot be simulated. It returns nil if it can.
func (t Trial) Refused() error {
	_, known := serverCount[t.On()]
	switch {
	case t.Lock.Open == nil:
		return fmt.Errorf("%s cannot be simulated: it is a separate program", t.Lock.Name)
	case t.Lock.Store != "" && t.Lock.Store != "redis":
		return fmt.Errorf("%s cannot be simulated: it uses %s, and only Redis is emulated", t.Lock.Name, t.Lock.Store)
	case t.Lock.Tracks:
		return fmt.Errorf("%s cannot be simulated: it uses client-side caching, which the emulator lacks", t.Lock.Name)
	case t.Lock.ThirdParty: // these libraries may behave randomly; for example, go-redis waits for a random time before a retry
		return fmt.Errorf("%s cannot be simulated: the third-party library is not deterministic", t.Lock.Name)
	case t.Lock.Deployment == "replica":
		return fmt.Errorf("%s cannot be simulated: the emulator's WAIT does not wait", t.Lock.Name)
	case t.Workload.Served:
		return fmt.Errorf("%s cannot be simulated: its services are separate processes", t.Workload.Name)
	case t.On() == "durable":
		return errors.New("the deployment durable cannot be simulated: the emulator has no disk")
	case t.On() == "sentinel":
		return errors.New("the deployment sentinel cannot be simulated: the emulator has no Sentinels")
	case !known:
		return fmt.Errorf("the deployment %s cannot be simulated", t.On())
	}
	for _, s := range t.Plan.Steps {
		if err := t.refusedStep(s.Do); err != nil {
			return err
		}
	}
	return nil
}

var verbs = []faults.Verb{faults.Stall, faults.Abandon, faults.GiveUp, faults.Pause, faults.Kill, faults.Delay, faults.Lose,
	faults.Cut, faults.Slow, faults.Mute, faults.Restart, faults.Down, faults.Freeze, faults.Unlink, faults.Failover, faults.Jump, faults.Drift, faults.Evict,
	faults.Reset, faults.Interrupt, faults.Empty, faults.ForgetScripts, faults.ReadOnly}

func (t Trial) refusedStep(a faults.Action) error {
	if !slices.Contains(verbs, a.Verb) {
		return fmt.Errorf("the action %s cannot be simulated", a.Verb)
	}
	replicas := a.Verb == faults.Unlink || a.Verb == faults.Failover
	if replicas && t.On() != "replica" && t.On() != "two-replicas" {
		return fmt.Errorf("%s needs a deployment with a replica, and %q has none", a.Verb, t.On())
	}
	if replicas && len(a.Nodes) == 0 {
		return fmt.Errorf("%s names no replica", a.Verb)
	}
	for _, n := range a.Nodes {
		if !replicas && (n < 0 || n >= serverCount[t.On()]) {
			return fmt.Errorf("%s names server %d, but there are %d servers", a.Verb, n, serverCount[t.On()])
		}
	}
	if a.Process >= t.Params.Processes {
		return fmt.Errorf("%s names process %d, but there are %d processes", a.Verb, a.Process, t.Params.Processes)
	}
	return nil
}

// On returns the name of the trial's deployment.
func (t Trial) On() string { return cmp.Or(t.Deployment, t.Lock.Deployment) }

// Supported returns nil if this Go release supports virtual time. Otherwise it returns an error with the reason.
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

// inBubble runs f in virtual time. Only package testing can create a testing/synctest bubble.
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
		Recorder: rec, Watch: watch, Renews: t.Lock.Renews, Unique: workloads.UniqueTokens(t.Lock), Suits: workloads.HabitsOf(t.Lock), Granted: new(atomic.Int64)}
	d.Fresh.Resource = world.processes[0].resource // the harness must reach the resource even during faults of a process
	for _, p := range world.processes[:t.Params.Processes] {
		d.Processes = append(d.Processes, p.asWorkload())
	}
	beating, still := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() { failed <- pulse(beating, rec) }()
	go t.observe(beating, world, rec)
	in := inject.New(t.Fault, t.Plan, world, rec)
	d.Director = in
	in.Begin()
	d.Run(context.Background())
	r.Discarded = in.Finish()
	r.Strikes = in.Strikes()
	d.Epilogue(context.Background(), header.FreedWithin())
	still()
	return r, errors.Join(<-failed, rec.Close())
}

// up starts the servers and opens a lock in each process. The last process has no faults. It checks the keys at the end
// of the trial.
func (t Trial) up(watch *workloads.Watch) (*world, error) {
	w := &world{net: newNetwork(serverCount[t.On()], t.Params.Processes+1, oneWay, t.Params.Seed), clients: t.Params.Clients,
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

// connect lets every client acquire and release a separate key before recording begins. This opens all connections and
// sends the scripts to the servers.
func (t Trial) connect(w *world) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
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
		if err != nil && !errors.Is(err, impls.ErrNotHeld) { // a defective lock may return ErrNotHeld even without contention
			return fmt.Errorf("connect: %w", err)
		}
	}
	return nil
}

func (t Trial) header() histories.Header {
	h := t.Workload.Header(t.Lock, t.Params)
	h.Run, h.Server, h.Simulated = "sim", "emulators in virtual time", true
	h.Deployment, h.Fault, h.ObservedStep = t.On(), t.Fault, histories.Nanos(leaseStep)
	if h.Expectations = t.Expectations; h.Expectations == nil {
		h.Expectations = workloads.Expectations(t.Lock, t.Workload, t.Fault, t.On(), t.Params)
	}
	return h
}

// markEvery is the interval between marks in the history. A mark states that all earlier events have been written.
// The interval is a multiple of quantum, so that marks never coincide with messages.
const markEvery = 500 * time.Millisecond / quantum * quantum

// pulse writes marks to the history at times at which no other event can occur. A mark states that all earlier events
// have been written. It also states how long the harness was paused, which is always 0 in virtual time.
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
