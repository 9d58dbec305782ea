package bench_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lockbench/reports/bench"
	"lockbench/reports/run"
)

// options configures generated bench data. Equal options give equal data. The zero value gives ten trials of each lock,
// and all self-checks pass.
type options struct {
	Seed   uint64
	Blocks int // number of blocks (rounds of trials); 0: ten blocks

	Factor    map[string]float64 // factor for the goodput of each lock, by lock name
	Unsafe    []string           // locks that violate exclusion in their last trial
	Starve    string             // name of a lock that starves three clients
	Discarded int                // number of discarded trials of the lock "fenced"

	Thresholds []bench.Threshold

	// The following options generate special cases, such as a self-check that is absent or fails.
	NoControls   bool     // whether to omit the baselines and self-checks
	BlindJudge   bool     // whether the violation of the known-broken lock is not detected
	WrongDelay   bool     // whether the self-check for an added delay fails, because only half of the delay is measured
	UnseenStall  bool     // whether the pause of the load generator is not detected
	UnevenAgain  bool     // whether the self-check that measures a lock twice fails, because the two results differ
	Fault        bool     // whether the last set of conditions has a fault
	Points       []string // IDs of the sets of conditions to generate; nil: all
	OnlyContend4 bool     // whether there is only one set of conditions, with four clients
	OnlyFigures  bool     // whether to omit latency curves and timelines
}

// writeFolder writes bench.json and the trial files of a generated bench.
func writeFolder(dir string, o options) error {
	r, err := makeResults(o)
	if err != nil {
		return err
	}
	if err := bench.WritePlan(dir, r.Plan); err != nil {
		return err
	}
	for _, t := range r.Trials {
		if err := bench.WriteTrial(dir, t); err != nil {
			return err
		}
	}
	return nil
}

// makeResults returns generated results without writing files.
func makeResults(o options) (*bench.Results, error) {
	if o.Blocks == 0 {
		o.Blocks = 10
	}
	p := plan(o)
	var trials []*bench.Trial
	for block := range o.Blocks {
		for at, i := range rand.New(rand.NewPCG(o.Seed, uint64(block))).Perm(len(p.Pairs)) {
			pair := p.Pairs[i]
			t, err := maker{o, p.Subjects[pair.Subject], p.Points[pair.Point], block}.trial()
			if err != nil {
				return nil, err
			}
			t.Order, t.Started = at, p.Started.Add(time.Duration(block*len(p.Pairs)+at)*time.Second)
			trials = append(trials, t)
		}
	}
	return bench.ResultsOf(p, trials), nil
}

// random returns a random source that depends only on the seed and the arguments. Values that do not depend on an
// option therefore stay the same if the option changes.
func (o options) random(of ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	return rand.New(rand.NewPCG(o.Seed, h.Sum64()))
}

func plan(o options) *bench.Plan {
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
		Subjects: subjects(o), Points: points(o), Thresholds: o.Thresholds,
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

func subjects(o options) []bench.Subject {
	all := []bench.Subject{
		{Name: "fenced", Role: bench.Lock, Doc: "a queue of waiters that are woken"},
		{Name: "set-px-lua", Role: bench.Lock, Doc: "SET NX PX and a script that compares"},
		{Name: "redsync", Role: bench.Lock, Doc: "a third-party library with its defaults", ThirdParty: true},
		{Name: "redsync-tuned", Lock: "redsync", Role: bench.Lock, Doc: "the same, asking more often", ThirdParty: true, Params: map[string]string{"retry": "1ms"}},
		{Name: "none", Role: bench.Baseline, Doc: "the cost of the harness"},
		{Name: "bare", Role: bench.Baseline, Doc: "SET and DEL in a loop"},
		{Name: "broken", Role: bench.Control, Doc: "grants the lock twice"},
		{Name: "fenced-again", Lock: "fenced", Role: bench.Again, Doc: "fenced a second time"},
		{Name: "fenced-delayed", Lock: "fenced", Role: bench.Delayed, Doc: "fenced behind a slow network", Params: map[string]string{"delay": "5ms"}},
		{Name: "fenced-stalled", Lock: "fenced", Role: bench.Stalled, Doc: "fenced with a generator that is stopped", Params: map[string]string{"stall": "200ms"}},
	}
	for i := range all {
		s := &all[i]
		if s.Lock == "" && s.Name != "bare" {
			s.Lock = s.Name
		}
		if s.Name != "none" {
			s.Store, s.Server = "redis", "redis 8.4.0"
		}
		if s.Role != bench.Baseline {
			s.Durability = "in memory: a crash of the server loses it"
		}
	}
	if o.NoControls {
		return all[:6]
	}
	return all
}

func points(o options) []bench.Point {
	var all []bench.Point
	for _, p := range []struct {
		section       string
		clients, keys int
		hold          time.Duration
	}{{"uncontended", 16, 16, 0}, {"contended", 4, 1, time.Millisecond}, {"contended", 16, 1, time.Millisecond}, {"contended", 64, 1, time.Millisecond}} {
		all = append(all, bench.Point{
			ID:      fmt.Sprintf("%s-%dc-%dk-%dms", p.section, p.clients, p.keys, p.hold.Milliseconds()),
			Section: p.section, Workload: "contend", Clients: p.clients, Processes: 2, Keys: p.keys, HoldNS: int64(p.hold),
			TTLNS: int64(10 * time.Second), Arrivals: bench.Closed, Fault: "none", DurationNS: int64(500 * time.Millisecond),
		})
	}
	if o.Fault {
		last := &all[len(all)-1]
		last.Section, last.ID, last.Fault = "faults", "faults-64c-1k-1ms-kill-server", "kill-server"
	}
	return slices.DeleteFunc(all, func(p bench.Point) bool {
		return len(o.Points) > 0 && !slices.Contains(o.Points, p.ID) || o.OnlyContend4 && p.Clients != 4
	})
}

// measured reports whether the generated bench has trials of a lock, baseline or self-check under one set of
// conditions. Locks have trials under all conditions, baselines and self-checks only under some.
func measured(s bench.Subject, p bench.Point) bool {
	switch s.Role {
	case bench.Baseline, bench.Delayed:
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

// TestFolder checks that equal options give identical files, and that another seed gives different files.
func TestFolder(t *testing.T) {
	a, b, other := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, o := range map[string]options{a: {Blocks: 2}, b: {Blocks: 2}, other: {Blocks: 2, Seed: 1}} {
		if err := writeFolder(dir, o); err != nil {
			t.Fatal(err)
		}
	}
	const one = "contended-16c-1k-1ms/fenced/001/trial.json"
	read := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, one))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read(a) != read(b) {
		t.Error("the same options give other bytes")
	}
	if read(a) == read(other) {
		t.Error("another seed gives the same bytes")
	}
}
