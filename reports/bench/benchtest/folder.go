// Package benchtest makes bench folders and results for tests: synthetic, plausible, and the same for the same options.
package benchtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"lockbench/reports/bench"
	"lockbench/reports/run"
)

// Options is what the folder is made like. The zero value is a sound bench of ten blocks.
type Options struct {
	Seed   uint64
	Blocks int // 0: 10

	Factor map[string]float64 // by lock: its speed as a multiple of what it would be
	Unsafe []string           // locks seen to break exclusion in their last block
	Void   int                // so many trials of fenced are void

	Thresholds []bench.Threshold

	// What goes wrong with the bench's own controls.
	NoControls   bool     // there are none
	BlindJudge   bool     // the broken lock is found to hold
	WrongDelay   bool     // the known delay is half of what it should be
	UnseenStall  bool     // nothing shows that the generator stood still
	UnevenAgain  bool     // a lock differs from itself
	Fault        bool     // the last point has a fault
	Points       []string // only these; none: all
	OnlyContend4 bool     // one point of four clients: a small folder
	OnlyFigures  bool     // no curves and no timelines: a quick one
}

// Folder writes bench.json and the trials of a bench.
func Folder(dir string, o Options) error {
	p, trials, err := made(o)
	if err != nil {
		return err
	}
	if err := bench.WritePlan(dir, p); err != nil {
		return err
	}
	for _, t := range trials {
		if err := bench.WriteTrial(dir, t); err != nil {
			return err
		}
	}
	return nil
}

// Results returns what the folder would give, without writing it.
func Results(o Options) (*bench.Results, error) {
	p, trials, err := made(o)
	if err != nil {
		return nil, err
	}
	return bench.ResultsOf(p, trials), nil
}

func made(o Options) (*bench.Plan, []*bench.Trial, error) {
	if o.Blocks == 0 {
		o.Blocks = 10
	}
	p := plan(o)
	var trials []*bench.Trial
	for block := range o.Blocks {
		order := rand.New(rand.NewPCG(o.Seed, uint64(block))).Perm(len(p.Pairs))
		for at, i := range order {
			t, err := trial(o, p, p.Pairs[i], block)
			if err != nil {
				return nil, nil, err
			}
			t.Order = at
			t.Started = p.Started.Add(time.Duration(block*len(p.Pairs)+at) * time.Second)
			trials = append(trials, t)
		}
	}
	return p, trials, nil
}

// random is a source of a trial's own, so that an option changes nothing but what it names.
func random(o Options, of ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	return rand.New(rand.NewPCG(o.Seed, h.Sum64()))
}

func plan(o Options) *bench.Plan {
	started := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	p := &bench.Plan{
		Version: bench.Version, Name: "synthetic", Doc: "figures that nobody measured, for tests",
		Started: started, Ended: started.Add(7 * time.Minute),
		Command: fmt.Sprintf("lockbench bench --suite synthetic --seed %d", o.Seed),
		Seed:    o.Seed, Servers: "embedded", BudgetNS: int64(10 * time.Minute), Trials: o.Blocks,
		Environment: run.Environment{
			OS: "linux", Arch: "amd64", CPU: "Imagined CPU @ 3.00GHz", Cores: 4, Memory: 8 << 30, Kernel: "6.1.0",
			Go: "go1.26.0", Lockbench: "0123456789ab", Load: []float64{0.4, 0.5, 0.6}, Server: "redis 8.4.0, a process of this machine",
		},
		Notes:    []string{"All clients and the server share one machine."},
		Subjects: subjects(o),
		Points:   points(o), Thresholds: o.Thresholds,
	}
	for pt, point := range p.Points {
		for s, subject := range p.Subjects {
			if measured(subject, point) {
				p.Pairs = append(p.Pairs, bench.Pair{Subject: s, Point: pt})
			}
		}
	}
	return p
}

func subjects(o Options) []bench.Subject {
	const store, server, durable = "redis", "redis 8.4.0", "in memory: a crash of the server loses it"
	lock := func(name string, role bench.Role, doc string) bench.Subject {
		return bench.Subject{Name: name, Lock: name, Role: role, Store: store, Server: server, Durability: durable, Doc: doc}
	}
	as := func(name, of string, role bench.Role, doc string, params map[string]string) bench.Subject {
		s := lock(name, role, doc)
		s.Lock, s.Params = of, params
		return s
	}
	redsync := lock("redsync", bench.Lock, "a library of others, as it comes")
	tuned := as("redsync-tuned", "redsync", bench.Lock, "the same, asking more often", map[string]string{"retry": "1ms"})
	redsync.Peer, tuned.Peer = true, true
	all := []bench.Subject{
		lock("fenced", bench.Lock, "waiters stand in line and are told"),
		lock("set-px-lua", bench.Lock, "SET NX PX and a script that compares"),
		redsync,
		tuned,
		{Name: "none", Lock: "none", Role: bench.Floor, Doc: "what the harness costs by itself"},
		{Name: "bare", Role: bench.Floor, Store: store, Server: server, Doc: "SET and DEL, and no care"},
	}
	if o.NoControls {
		return all
	}
	return append(all,
		lock("broken", bench.Control, "gives the lock to whoever asks at the wrong moment"),
		as("fenced-again", "fenced", bench.Again, "fenced a second time", nil),
		as("fenced-delayed", "fenced", bench.Delayed, "fenced behind a slow network", map[string]string{"delay": "5ms"}),
		as("fenced-stalled", "fenced", bench.Stalled, "fenced, asked by a generator that stands still", map[string]string{"stall": "200ms"}),
	)
}

func points(o Options) []bench.Point {
	point := func(section string, clients, keys int, hold time.Duration) bench.Point {
		return bench.Point{
			ID:      fmt.Sprintf("%s-%dc-%dk-%dms", section, clients, keys, hold.Milliseconds()),
			Section: section, Workload: "contend", Clients: clients, Processes: 2, Keys: keys, HoldNS: int64(hold),
			TTLNS: int64(10 * time.Second), Arrivals: bench.Closed, Fault: "none", DurationNS: int64(500 * time.Millisecond),
		}
	}
	if o.OnlyContend4 {
		return []bench.Point{point("contended", 4, 1, time.Millisecond)}
	}
	all := []bench.Point{
		point("uncontended", 16, 16, 0),
		point("contended", 4, 1, time.Millisecond),
		point("contended", 16, 1, time.Millisecond),
		point("contended", 64, 1, time.Millisecond),
	}
	if o.Fault {
		last := &all[len(all)-1]
		last.Section, last.ID, last.Fault = "faults", "faults-64c-1k-1ms-kill-server", "kill-server"
	}
	if len(o.Points) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p bench.Point) bool { return !slices.Contains(o.Points, p.ID) })
}

// measured is what a suite measures where: locks everywhere, the others where they tell something.
func measured(s bench.Subject, p bench.Point) bool {
	switch s.Role {
	case bench.Floor, bench.Delayed:
		return !p.Contended()
	case bench.Control:
		return p.Contended() && p.Clients <= 16
	case bench.Stalled:
		return p.Contended() && p.Clients == 16
	case bench.Again:
		return p.Clients <= 16
	}
	return true
}
