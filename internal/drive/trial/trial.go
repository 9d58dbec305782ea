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
	"sync/atomic"
	"time"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// Setting holds what all trials of a run have in common.
type Setting struct {
	Run        string         // names the run; part of every key
	Servers    string         // how servers are brought up: servers.Ways
	Remote     servers.Remote // their addresses, if external
	Params     workloads.Params
	FaultTTL   time.Duration     // the lease asked for under faults; 0: the fault's default
	LockParams map[string]string // of the locks that know them
	Worker     []string          // the command that runs a lock of the table in a process of its own
	Self       string            // this program, which is also a server of some stores, and a service of the shop
	Asked      Asked             // of a shop
	Trials     int               // of each cell
	// Lend returns servers for a trial that does not harm them, and the function that takes them back; nil: each trial starts
	// its own.
	Lend func(context.Context, servers.Spec) (g *servers.Group, giveBack func() error, err error)

	// For measurements beyond the record:
	Pace  func(context.Context, Running)                                    // returns when no iteration is to begin any more; nil: after the duration
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error) // how locks reach their servers; nil: the network
	Tally *impls.Tally                                                      // of what locks do by themselves; nil: it is not counted
}

// Running is a trial while its clients are driven.
type Running struct {
	Since   func() time.Duration // the time of its history
	Granted *atomic.Int64
	Group   *servers.Group // without nodes: the lock talks to nothing
}

// Outcome is a trial that came to its end.
type Outcome struct {
	Dir    string
	Server string // product, version and how
	// Durability is what has become of a write there when it is acknowledged.
	Durability string
	Header     histories.Header
	Verdict    *checker.Verdict
	Void       string // why the trial is discarded; "": it counts
	Missed     string // what of the plan did not take place, if the trial counts all the same
}

// ErrDiscarded is returned if every attempt at a trial was discarded.
var ErrDiscarded = errors.New("trials in a row were discarded")

// attempts is how often a trial is tried until it counts.
const attempts = 5

// Try tries a cell until a trial counts: the nth of the cell, from 0. The folders of a cell's trials are 001,
// 002, ... in dir, those of repeated ones after all others. granted shows how far it is. It is an error if all
// attempts are discarded. When ctx ends it is cut short, judged as far as it got, and returned.
func (s Setting) Try(ctx context.Context, c Cell, dir string, n int, granted *atomic.Int64) (Outcome, error) {
	s.Params.Seed += uint64(n) // first, for what a fault draws may say how long it takes
	s.Params = s.params(c)
	s.LockParams = s.lockParams(c)
	var out Outcome
	for attempt := range attempts {
		number := n + 1 + attempt*max(1, s.Trials)
		t := newTrial(s, c, filepath.Join(dir, fmt.Sprintf("%03d", number)), granted)
		var err error
		if out, err = t.run(ctx); err != nil || out.Void == "" {
			return out, err
		}
	}
	return out, fmt.Errorf("%s: %d %w, the last because %s", c, attempts, ErrDiscarded, out.Void)
}

// Lasts returns about how long a trial of a cell takes.
func (s Setting) Lasts(c Cell) time.Duration {
	const around = 300 * time.Millisecond // the start, the epilogue and the judge
	return s.params(c).Duration + around
}

func (s Setting) params(c Cell) workloads.Params {
	p := s.Params
	if c.faulty() {
		p = c.Fault.Params(p, c.faultTTL(s.FaultTTL), c.On())
	}
	if c.Workload.Served {
		p = s.Asked.of(p)
	}
	p = c.Workload.Adapted(p)
	if c.Lock.Lease > 0 {
		p.TTL = min(p.TTL, c.Lock.Lease)
	}
	return p
}

// faultTTL returns the lease that is asked for under a fault; 0: the usual one.
func (c Cell) faultTTL(asked time.Duration) time.Duration {
	if asked == 0 && c.Lock.Shortest <= faults.UsualTTL {
		return 0
	}
	return max(asked, c.Lock.Shortest)
}

// lockParams returns the parameters of a cell's lock. Under a fault waiters pause between two tries unless they are told
// to spin: waiters that spin leave the machine no time for other processes, and a holder that is late for want of it is
// no evidence.
func (s Setting) lockParams(c Cell) map[string]string {
	if !c.faulty() || len(c.Lock.Worker) > 0 || s.LockParams["wait"] != "" {
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
	watch   *workloads.Watch

	group     *servers.Group // without nodes: the lock talks to nothing
	processes []workloads.Process
	fresh     workloads.Process
	world     *world // empty unless the processes are real ones
	release   []func() error
	void      string
	missed    string
}

// begun counts the trials of this process: each has keys of its own, since a late command of one may reach the servers that
// the next one uses.
var begun atomic.Int64

func newTrial(s Setting, c Cell, dir string, granted *atomic.Int64) *trial {
	s.Run = fmt.Sprintf("%s:%d", s.Run, begun.Add(1))
	t := &trial{Setting: s, Cell: c, dir: dir, granted: granted, watch: workloads.NewWatch(), group: &servers.Group{}}
	t.world = &world{trial: t}
	return t
}

func (t *trial) run(ctx context.Context) (Outcome, error) {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return Outcome{}, err
	}
	recorded, err := t.record(ctx)
	if err != nil && !recorded {
		return Outcome{}, fmt.Errorf("%s: %w", t.Cell, err)
	}
	out, judgeErr := t.judge()
	return out, errors.Join(err, judgeErr)
}

// record brings everything up, drives, and takes everything down. recorded: there is a history to judge.
func (t *trial) record(ctx context.Context) (recorded bool, err error) {
	up, drive := t.up, t.drive
	if t.Workload.Served {
		s := &sale{trial: t}
		up, drive = s.up, s.drive
	}
	defer func() { err = errors.Join(err, t.down()) }()
	if err := up(ctx); err != nil {
		return false, err
	}
	file, err := os.Create(t.historyFile())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	header := t.header(t.Setting, t.group.Server)
	header.Started = time.Now().UTC()
	rec, err := histories.NewRecorder(file, header, t.Params.Logs())
	if err != nil {
		return false, err
	}
	return true, drive(ctx, rec)
}

// drive runs the workload and the epilogue. What the servers counted is read around the workload alone.
func (t *trial) drive(ctx context.Context, rec *histories.Recorder) error {
	d := t.newDrive(rec, t.processes)
	if t.Pace != nil {
		d.Pace = func(ctx context.Context) { t.Pace(ctx, Running{Since: rec.Since, Granted: t.granted, Group: t.group}) }
	}
	var c counted
	err := whilePulsed(ctx, rec, func(running context.Context) (err error) {
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
		Recorder: rec, Watch: t.watch, Renews: t.Lock.Renews, Granted: t.granted}
}

// epilogue ends every trial that was not cut short.
func (t *trial) epilogue(ctx context.Context, d *workloads.Drive) {
	if ctx.Err() == nil {
		header := t.header(t.Setting, "")
		d.Epilogue(ctx, header.FreedWithin())
	}
}

// runThrough drives the clients and injects the fault. All faults are healed before the epilogue.
func (t *trial) runThrough(ctx context.Context, d *workloads.Drive) {
	if !t.faulty() {
		d.Run(ctx)
		return
	}
	w := t.world
	w.stalls = watchStalls(w.processes[:t.Params.Processes])
	in := inject.New(t.Fault.Name, t.Fault.Plan(w.scene), w, d.Recorder)
	d.Director = in
	in.Begin()
	d.Run(ctx)
	missed, late := in.Finish(), w.stalls.end(t.mayBeLate())
	if t.Partly {
		t.missed, missed = missed, ""
	}
	t.void = cmp.Or(missed, late)
}

// mayBeLate returns how late a holder under a fault may be without outliving its lease by that alone.
func (t *trial) mayBeLate() time.Duration {
	return (t.Params.TTL - min(t.Params.Hold, t.Params.TTL)) * 3 / 4
}

// judge reads the history back: what is judged is what is on the disk.
func (t *trial) judge() (Outcome, error) {
	out := Outcome{Dir: t.dir, Server: t.group.Server, Durability: t.group.Durability}
	v, header, err := judge.File(t.historyFile(), judge.Options{})
	if err != nil {
		return out, err
	}
	out.Verdict, out.Header = v, header
	out.Void, out.Missed = t.void, t.missed
	switch stall := v.MaxStall.Round(time.Millisecond); {
	case v.MaxStall > t.Params.TTL:
		out.Void = fmt.Sprintf("lockbench itself was paused for %s, longer than the TTL of %s", stall, t.Params.TTL)
	case t.faulty() && v.MaxStall > t.mayBeLate(): // it says when a hold's work is over
		out.Void = fmt.Sprintf("lockbench itself was paused for %s, and a holder may be at most %s late", stall, t.mayBeLate())
	}
	if out.Void != "" {
		err = t.write("void.json", map[string]string{"reason": out.Void})
	}
	return out, errors.Join(err, t.write("verdict.json", v))
}

func (t *trial) historyFile() string { return filepath.Join(t.dir, "history.jsonl.zst") }
