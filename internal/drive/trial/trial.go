package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/samber/lo"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/internal/drive/observe"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// Setting holds the settings that all trials of a run share.
type Setting struct {
	Run          string         // run ID, which is part of every key
	Servers      string         // start method of the servers; see servers.Ways
	Remote       servers.Remote // addresses of external servers
	Params       workloads.Params
	FaultTTL     time.Duration     // TTL of trials with a fault; 0: the default of the fault
	FaultHold    time.Duration     // hold time of trials with a fault; 0: the default of the fault
	FaultClients int               // number of clients of trials with a fault, if larger than the default
	LockParams   map[string]string // lock parameters; a lock ignores unknown names
	Worker       []string          // command that runs a built-in lock in a separate process
	Self         string            // path of the lockbench program, which also runs some stores and the shop services
	Asked        Asked             // parameters that the user set for shop workloads
	Trials       int               // number of trials of each combination of lock, workload and fault
	// Lend provides the servers for a trial without server faults. The trial calls giveBack when it no longer needs
	// them. If Lend is nil, each trial starts separate servers.
	Lend func(context.Context, servers.Spec) (g *servers.Group, giveBack func() error, err error)

	// The fields below are for benchmarks.
	Pace  func(context.Context, Running)                                    // waits until the clients should stop; nil: the clients stop after Params.Duration
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error) // opens the lock's connections to its servers; nil: ordinary network connections
	Tally *impls.Tally                                                      // counts attempts and wake-ups of locks; nil: they are not counted

	Prefix string // prefix of all keys, if several machines share a trial; "": a unique one
}

// Running describes a trial while its clients run.
type Running struct {
	Since   func() time.Duration // returns the time since the start of the history
	Granted *atomic.Int64
	Group   *servers.Group // the group has no nodes if the lock uses no server
}

// Outcome is the result of a trial that ended.
type Outcome struct {
	Dir    string
	Server string // product and version of the servers, and how they were started
	// Durability describes whether a server crash can lose an acknowledged write.
	Durability string
	Header     histories.Header
	Verdict    *checker.Verdict
	Discarded  string          // reason why the trial is discarded, or ""
	Missed     string          // the steps of the fault plan that were not carried out; set only if Cell.Partly is set
	Strikes    []inject.Strike // fault steps that were carried out
}

// ErrDiscarded is returned if every attempt at a trial was discarded.
var ErrDiscarded = errors.New("trials in a row were discarded")

// attempts is the maximum number of times that one trial is run. A discarded trial is run again.
const attempts = 5

// Try runs trial n of a cell, counted from 0. It repeats a discarded trial; after the last attempt it returns
// ErrDiscarded. The folders in dir are named 001, 002, ... by trial. Folders of repeated trials have higher numbers. Try
// increments *granted at each grant. If ctx ends, the trial ends early, and the recorded part is judged.
func (s Setting) Try(ctx context.Context, c Cell, dir string, n int, granted *atomic.Int64) (Outcome, error) {
	s.Params.Seed += uint64(n) // set before params is called, because the duration of a fault can depend on the seed
	s.Params = s.params(c)
	s.LockParams = s.lockParams(c)
	return s.attempt(ctx, c, dir, n, granted)
}

// attempt runs a trial whose parameters are complete, and repeats it while it is discarded.
func (s Setting) attempt(ctx context.Context, c Cell, dir string, n int, granted *atomic.Int64) (Outcome, error) {
	var out Outcome
	for attempt := range attempts {
		number := n + 1 + attempt*max(1, s.Trials)
		t := newTrial(s, c, filepath.Join(dir, fmt.Sprintf("%03d", number)), granted)
		var err error
		if out, err = t.run(ctx); err != nil || out.Discarded == "" {
			return out, err
		}
	}
	return out, fmt.Errorf("%s: %d %w, the last because %s", c, attempts, ErrDiscarded, out.Discarded)
}

// Lasts returns the approximate duration of one trial of a cell.
func (s Setting) Lasts(c Cell) time.Duration {
	const around = 300 * time.Millisecond // approximate time to start and judge a trial
	return s.params(c).Duration + around
}

func (s Setting) params(c Cell) workloads.Params {
	p := s.Params
	if c.faulty() {
		p = c.Fault.Params(p, c.faultTTL(s.FaultTTL), c.On())
		if !c.Partly {
			p = s.longer(p)
		}
	}
	if c.Workload.Served {
		p = s.Asked.of(p)
	}
	if c.Lock.Program != nil {
		p.Shortest = c.Lock.Granting(time.Millisecond)
		p.TTL = c.Lock.Granting(p.TTL)
	}
	p = c.Workload.Adapted(p)
	if c.Lock.Lease > 0 {
		p.TTL = min(p.TTL, c.Lock.Lease)
	}
	return p
}

// faultTTL returns the TTL for a trial with a fault. If the fault restarts servers, the default is long enough for a
// restart during a hold. Sessions need no longer TTL, because a restart does not make them expire.
func (c Cell) faultTTL(asked time.Duration) time.Duration {
	if asked == 0 {
		asked = faults.UsualTTL
		if slices.Contains(c.verbs(), faults.Restart) && !c.Lock.Session {
			asked = max(asked, 3*stores.RestartTime(c.Lock.Store))
		}
	}
	return c.Lock.Granting(max(asked, c.Lock.Shortest))
}

// lockParams returns the lock parameters for trials of a cell. Under a fault, waiters pause between two tries by
// default. Without these pauses, they would slow down other processes. A holder could then outlive its lease even
// without the fault.
func (s Setting) lockParams(c Cell) map[string]string {
	if !c.faulty() || c.Lock.Program != nil || s.LockParams["wait"] != "" {
		return s.LockParams
	}
	params := map[string]string{"wait": "backoff"}
	maps.Copy(params, s.LockParams)
	return params
}

type trial struct {
	Setting
	Cell
	dir     string
	granted *atomic.Int64
	prefix  string // prefix of all keys of the trial
	names   string // second prefix of keys, for a trial on a shared stage
	stage   *stage // nil: the trial makes a stage itself if its clients run in separate processes
	watch   *workloads.Watch

	group     *servers.Group // servers of the lock; empty if the lock uses no server
	processes []workloads.Process
	fresh     workloads.Process
	seen      *observe.Observation // nil if the trial is not observed
	world     *world               // carries out faults on worker processes; without processes if all clients run in this process
	release   []func() error
	discarded string
	missed    string
	strikes   []inject.Strike
}

// begun is the number of prefixes that UniquePrefix has returned.
var begun atomic.Int64

// UniquePrefix returns a key prefix for a trial or a Stage. It is unique in this process. So a late command of one trial
// cannot affect another trial on the same servers.
func UniquePrefix(run string) string {
	return fmt.Sprintf("%s%d:", servers.KeyPrefix(run), begun.Add(1))
}

func newTrial(s Setting, c Cell, dir string, granted *atomic.Int64) *trial {
	t := &trial{Setting: s, Cell: c, dir: dir, granted: granted, watch: workloads.NewWatch(), group: &servers.Group{},
		prefix: cmp.Or(s.Prefix, UniquePrefix(s.Run))}
	t.world = &world{trial: t}
	return t
}

func (t *trial) run(ctx context.Context) (Outcome, error) {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return Outcome{}, err
	}
	recorded, err := t.record(ctx, t.toFile)
	if err != nil && !recorded {
		return Outcome{}, fmt.Errorf("%s: %w", t.Cell, err)
	}
	out, judgeErr := t.judge()
	return out, errors.Join(err, judgeErr)
}

// record sets up the trial, runs the clients and cleans up. The function begin returns the recorder for a history. The
// result recorded is true if a history was written.
func (t *trial) record(ctx context.Context, begin func(histories.Header) (*histories.Recorder, error)) (recorded bool, err error) {
	up, drive := t.up, t.drive
	if t.Workload.Served {
		s := &sale{trial: t}
		up, drive = s.up, s.drive
	}
	defer func() { err = errors.Join(err, t.down()) }()
	if err := up(ctx); err != nil {
		return false, cmp.Or(t.died(), err)
	}
	header := t.header(t.Setting, t.group.Server)
	header.Started = time.Now().UTC()
	header.ObservedStep = histories.Nanos(t.observedStep())
	rec, err := begin(header)
	if err != nil {
		return false, err
	}
	err = drive(ctx, rec)
	return true, cmp.Or(t.died(), err)
}

// toFile returns a recorder that writes the history file of the trial.
func (t *trial) toFile(h histories.Header) (*histories.Recorder, error) {
	file, err := os.Create(t.historyFile())
	if err != nil {
		return nil, err
	}
	t.later(file.Close)
	return histories.NewRecorder(file, h, t.Params.Logs())
}

// died returns an error if a server ended although no fault ended it. The trial then says nothing about the lock.
func (t *trial) died() error {
	if t.Fault.Kind == faults.Servers {
		return nil
	}
	for _, n := range t.group.Nodes {
		if !n.Alive() {
			u, _, err := addressOf(n.URL())
			if err != nil {
				return err
			}
			return fmt.Errorf("the %s server at %s ended during the trial, and no fault of the trial ended it", t.Lock.Store, u.Host)
		}
	}
	return nil
}

// drive runs the workload and then checks that the lock is free. The server counters include only the workload.
func (t *trial) drive(ctx context.Context, rec *histories.Recorder) error {
	d := t.newDrive(rec, t.processes)
	if t.Pace != nil {
		d.Pace = func(ctx context.Context) { t.Pace(ctx, Running{Since: rec.Since, Granted: t.granted, Group: t.group}) }
	}
	var c counted
	err := whilePulsed(ctx, rec, func(running context.Context) (err error) {
		t.seen = t.observe(rec)
		defer t.seen.Stop()
		c, err = t.counting(ctx, t.group, func() { t.runThrough(running, d) })
		if err == nil {
			t.epilogue(running, d)
		}
		return err
	})
	return errors.Join(err, t.world.failed(), t.write("counters.json", c))
}

func (t *trial) newDrive(rec *histories.Recorder, processes []workloads.Process) *workloads.Drive {
	return &workloads.Drive{Workload: t.Workload, Params: t.Params, Processes: processes, Fresh: t.fresh,
		Recorder: rec, Watch: t.watch, Renews: t.Lock.Renews, Granted: t.granted,
		Unique: workloads.UniqueTokens(t.Lock), Rereleases: lo.FromPtr(t.Lock.Program).Rereleases, Suits: workloads.HabitsOf(t.Lock)}
}

// observe begins to record what the servers store for the lock's keys. It returns nil if the trial is not observed.
func (t *trial) observe(rec *histories.Recorder) *observe.Observation {
	if t.observedStep() == 0 {
		return nil
	}
	keys := observe.Keys{Prefix: t.prefix + t.names, TTL: t.Params.TTL, Prober: t.prober()}
	for _, name := range t.Params.KeyNames() {
		keys.Names = append(keys.Names, workloads.SegmentsOf(t.fresh.Lock, name)...)
	}
	return observe.Start(t.group, keys, rec)
}

// observedStep returns the precision of observed leases, or 0 if the trial is not observed. Trials of a benchmark or a shop
// are not observed. If the entries of a store cannot be read, the lock itself reports the holders.
func (t *trial) observedStep() time.Duration {
	switch {
	case t.Pace != nil || t.Workload.Served:
		return 0
	case t.group.ObservedStep() == 0 && t.prober() != nil:
		return observe.ProbedStep
	}
	return t.group.ObservedStep()
}

// prober returns the lock that answers probes about the holders, in a process without faults. It returns nil if the lock
// cannot do so, or is a separate program, whose answers are not known to be right.
func (t *trial) prober() impls.Prober {
	p, ok := t.fresh.Lock.(impls.Prober)
	if !ok || t.Lock.Program != nil {
		return nil
	}
	return p
}

// epilogue checks that the lock can be acquired after the workload. It does nothing if the trial was interrupted.
func (t *trial) epilogue(ctx context.Context, d *workloads.Drive) {
	if ctx.Err() == nil && t.Params.Part.Whole() {
		header := t.header(t.Setting, "")
		d.Epilogue(ctx, header.FreedWithin())
	}
}

// runThrough runs the clients and injects the fault. It returns after all faults have been healed.
func (t *trial) runThrough(ctx context.Context, d *workloads.Drive) {
	if !t.faulty() {
		d.Run(ctx)
		return
	}
	w := t.world
	w.stalls, w.leased = watchStalls(w.processes[:t.Params.Processes]), d.Leased
	in := inject.New(t.Fault.Name, t.Fault.Plan(w.scene), w, d.Recorder)
	d.Director = in
	in.Begin()
	d.Run(ctx)
	missed, late := in.Finish(), w.stalls.end(t.mayBeLate())
	t.strikes = in.Strikes()
	if t.Partly {
		t.missed, missed = missed, in.Failed()
	}
	t.discarded = cmp.Or(missed, late)
}

// mayBeLate returns the longest pause of lockbench or a worker process that a trial with a fault tolerates. After a
// longer pause that the fault did not cause, the trial is discarded. Usually the limit is 3/4 of the difference between
// TTL and hold time.
func (t *trial) mayBeLate() time.Duration {
	if t.Params.Hold >= t.Params.TTL {
		return t.Params.TTL / 4 // the hold outlives its lease; a lock that renews every third of a lease tolerates this pause
	}
	return (t.Params.TTL - t.Params.Hold) * 3 / 4
}

// judge judges the history file and returns the outcome of the trial.
func (t *trial) judge() (Outcome, error) {
	out := Outcome{Dir: t.dir, Server: t.group.Server, Durability: t.group.Durability}
	v, header, err := judge.File(t.historyFile(), judge.Options{})
	if err != nil {
		return out, err
	}
	out.Verdict, out.Header = v, header
	out.Discarded, out.Missed, out.Strikes = cmp.Or(t.paused(v), t.discarded), t.missed, t.strikes
	if out.Discarded != "" {
		err = t.write("discarded.json", map[string]string{"reason": out.Discarded})
	}
	return out, errors.Join(err, t.write("verdict.json", v))
}

// paused returns the reason to discard the trial if lockbench itself was paused for too long. Otherwise it returns "".
func (t *trial) paused(v *checker.Verdict) string {
	switch stall := v.MaxStall.Round(time.Millisecond); {
	case v.MaxStall > t.Params.TTL:
		return fmt.Sprintf("lockbench itself was paused for %s, longer than the TTL of %s", stall, t.Params.TTL)
	case t.faulty() && v.MaxStall > t.mayBeLate(): // a stall of lockbench can delay a holder just as a fault does
		return fmt.Sprintf("lockbench itself was paused for %s, and a holder may be at most %s late", stall, t.mayBeLate())
	}
	return ""
}

func (t *trial) historyFile() string { return filepath.Join(t.dir, "history.jsonl.zst") }
