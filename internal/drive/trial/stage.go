package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/internal/drive/workers"
	"lockbench/internal/world/children"
	"lockbench/internal/world/proxy"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// stage holds the environment of clients in separate processes: the worker processes, the guarded resource, and a proxy
// between each process and each server. It lasts for one trial, or for all trials of a Stage.
type stage struct {
	keeper  *children.Keeper
	guarded *workers.Guarded
	program impls.Program
	seats   []*seat
	fresh   *seat // runs the check at the end of a trial; no fault affects it
	watch   atomic.Pointer[workloads.Watch]
	clock   *workers.Clock // starts processes whose clocks can be moved; nil until a trial needs it
}

// seat holds one worker process and its links to the servers.
type seat struct {
	links   []*proxy.Link
	urls    []string         // addresses of the links
	process *workers.Process // nil if the process has not been started
	ttl     time.Duration    // lease that the process expects
	group   *servers.Group   // servers on which the process opened the lock
}

// newStage returns a stage without processes. The method prepare starts them.
func newStage(program impls.Program) (*stage, error) {
	keeper, err := children.New()
	if err != nil {
		return nil, err
	}
	guarded, err := workers.Guard(workloads.NewRegister(workloads.Checking))
	if err != nil {
		return nil, errors.Join(err, keeper.Close())
	}
	return &stage{keeper: keeper, guarded: guarded, program: program, fresh: &seat{}}, nil
}

func (s *stage) close() error {
	all := append(slices.Clone(s.seats), s.fresh)
	err := servers.Each(len(all), func(i int) error { return errors.Join(all[i].endWorker(), all[i].unlink()) })
	if s.clock != nil {
		err = errors.Join(err, s.clock.Close())
	}
	return errors.Join(err, s.guarded.Close(), s.keeper.Close())
}

// prepare prepares the stage for a trial. It starts the missing processes and connects all processes to the trial's
// servers.
func (s *stage) prepare(ctx context.Context, t *trial) error {
	s.watch.Store(t.watch)
	register := t.Workload.Register()
	s.guarded.Use(register)
	for len(s.seats) < t.Params.Processes {
		s.seats = append(s.seats, &seat{})
	}
	w := t.world
	for i, x := range append(slices.Clone(s.seats[:t.Params.Processes]), s.fresh) {
		if x == s.fresh && t.names != "" {
			i = mostProcesses // the process of the final check has the same number in every trial
		}
		if err := s.fill(ctx, x, t, i); err != nil {
			return err
		}
		w.processes, w.links = append(w.processes, x.process), append(w.links, x.links)
		t.processes = append(t.processes, workloads.Process{Lock: x.process.LockUnder(t.names), Resource: x.process, Running: x.process.Running})
	}
	t.processes[t.Params.Processes].Resource = register // the final check accesses the resource directly
	return nil
}

// renewed reports a renewal to the current trial.
func (s *stage) renewed(g impls.Grant, sent time.Duration, err error) {
	s.watch.Load().Renewed(g, sent, err)
}

// fill connects the worker process of the seat to the servers of a trial. It starts the process unless it is running.
func (s *stage) fill(ctx context.Context, x *seat, t *trial, number int) error {
	asked := t.group.Front()
	moves := x != s.fresh && t.movesClientClock()
	if x.group != t.group || x.ttl != t.Params.TTL && t.Lock.Program != nil || moves && x.process != nil && !x.process.HasClock() {
		if err := errors.Join(x.endWorker(), x.unlink()); err != nil {
			return err
		}
	}
	if err := x.connect(asked); err != nil || x.process != nil {
		return err
	}
	open := t.opening(number, x.urls)
	open.Resource = s.guarded.URL
	start := workers.Start
	if moves {
		clock, err := s.movableClock(ctx)
		if err != nil {
			return err
		}
		start = clock.Start
	}
	p, err := start(ctx, s.keeper, s.program, open, s.renewed)
	if err == nil {
		x.process, x.ttl, x.group = p, t.Params.TTL, t.group
	}
	return err
}

func (s *stage) movableClock(ctx context.Context) (_ *workers.Clock, err error) {
	if s.clock == nil {
		s.clock, err = workers.NewClock(ctx, s.keeper)
	}
	return s.clock, err
}

// connect makes the links of the seat lead to the servers at the asked addresses.
func (x *seat) connect(asked []string) error {
	for i, server := range asked {
		u, spoken, err := addressOf(server)
		if err != nil {
			return err
		}
		if i < len(x.links) {
			x.links[i].Upstream(u.Host)
			continue
		}
		l, err := proxy.Listen(u.Host, spoken)
		if err != nil {
			return err
		}
		u.Host = l.Addr()
		x.links, x.urls = append(x.links, l), append(x.urls, u.String())
	}
	return nil
}

// unlink closes the links of the seat.
func (x *seat) unlink() error {
	var errs []error
	for _, l := range x.links {
		errs = append(errs, l.Close())
	}
	x.links, x.urls = nil, nil
	return errors.Join(errs...)
}

// endWorker ends the worker process of the seat.
func (x *seat) endWorker() (err error) {
	if x.process != nil {
		err = x.process.Close()
		x.process = nil
	}
	return err
}

// clear ends all faults. It also ends each process that a later trial cannot use. Such a process was killed, has failed,
// has an unanswered request, may still have a hold, or has a wrong clock.
func (s *stage) clear() error {
	var errs []error
	for _, x := range append(slices.Clone(s.seats), s.fresh) {
		for _, l := range x.links {
			l.Heal()
		}
		if x.process != nil && (!x.process.Idle() || x.process.ClockMoved()) {
			errs = append(errs, x.endWorker())
		}
	}
	return errors.Join(errs...)
}

// Stage runs trials of one lock one after another. Its servers and worker processes keep running between the trials, so
// each trial takes little longer than its clients run. Different stages can be used at the same time.
type Stage struct {
	setting Setting
	stage   *stage
	group   *servers.Group
	spec    servers.Spec
	prefix  string
	trials  int
}

// Stage returns a stage for trials of a lock. The trials use the settings s.
func (s Setting) Stage(lock impls.Impl) (*Stage, error) {
	st, err := newStage(s.program(lock))
	if err != nil {
		return nil, err
	}
	return &Stage{setting: s, stage: st, prefix: UniquePrefix(s.Run)}, nil
}

// Played is the result of a trial that ran on a Stage.
type Played struct {
	*histories.Memory
	Server    string
	Verdict   *checker.Verdict // verdict of the checker, not compared with the oracle
	Discarded string           // reason why the trial says nothing about the lock, or ""
	Missed    string           // steps of the fault plan that were not carried out, or ""
	Strikes   []inject.Strike  // fault steps that were carried out
}

// Play runs one trial. It does not repeat a discarded trial. After an error, the next trial uses new servers.
func (x *Stage) Play(ctx context.Context, c Cell) (Played, error) {
	s := x.setting
	s.Lend = x.lend
	s.Params = s.params(c)
	s.LockParams = s.lockParams(c)
	t := newTrial(s, c, "", new(atomic.Int64))
	x.trials++
	t.stage, t.prefix, t.names = x.stage, x.prefix, fmt.Sprintf("%d.", x.trials)
	p, err := t.play(ctx)
	if err = errors.Join(err, x.stage.clear()); err != nil {
		return p, errors.Join(err, x.stop()) // the state of the servers is unknown after an error
	}
	return p, x.stopChangedServers(c)
}

// changing lists the actions whose effect on servers cannot be undone.
var changing = []faults.Verb{faults.Down, faults.Unlink, faults.Failover, faults.Depose, faults.Jump, faults.Drift}

func (c Cell) changesServers() bool {
	return slices.ContainsFunc(c.verbs(), func(v faults.Verb) bool { return slices.Contains(changing, v) })
}

func (c Cell) movesClientClock() bool { return slices.ContainsFunc(c.verbs(), faults.MovesClientClock) }

// Spends reports whether a trial changes servers or clocks, so that the next trial on its Stage needs new servers and processes.
func (c Cell) Spends() bool { return c.changesServers() || c.movesClientClock() }

// stopChangedServers stops the servers if a fault of the trial has changed them.
func (x *Stage) stopChangedServers(c Cell) error {
	if x.group == nil {
		return nil
	}
	if c.changesServers() || slices.ContainsFunc(x.group.Nodes, func(n servers.Node) bool { return !n.Alive() }) {
		return x.stop()
	}
	return nil
}

// lend returns the servers of the stage, for use as Setting.Lend. If the trial needs another deployment or a clock that
// can be set, lend starts new servers.
func (x *Stage) lend(ctx context.Context, spec servers.Spec) (*servers.Group, func() error, error) {
	if spec.Deployment != x.spec.Deployment || spec.Clock && !x.spec.Clock {
		if err := x.stop(); err != nil {
			return nil, nil, err
		}
	}
	if x.group == nil {
		g, err := stores.Start(ctx, spec)
		if err != nil {
			return nil, nil, err
		}
		x.group, x.spec = g, spec
	}
	return x.group, func() error { return nil }, nil
}

func (x *Stage) stop() (err error) {
	if x.group != nil {
		err = x.group.Stop()
		x.group = nil
	}
	return err
}

// Close ends the processes and servers of the stage.
func (x *Stage) Close() error { return errors.Join(x.stage.close(), x.stop()) }

// play runs the trial, keeps its history in memory and judges it.
func (t *trial) play(ctx context.Context) (p Played, err error) {
	_, err = t.record(ctx, func(h histories.Header) (rec *histories.Recorder, err error) {
		rec, p.Memory = histories.NewMemory(h, t.Params.Logs())
		return rec, nil
	})
	if err != nil {
		return p, fmt.Errorf("%s: %w", t.Cell, err)
	}
	if p.Verdict, err = judge.History(p.Header, p.Source(), judge.Options{NoOracle: true}); err != nil {
		return p, err
	}
	p.Server, p.Missed, p.Strikes, p.Discarded = t.group.Server, t.missed, t.strikes, cmp.Or(t.paused(p.Verdict), t.discarded)
	return p, nil
}
