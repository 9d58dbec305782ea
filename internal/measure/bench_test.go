package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/drive/trial"
	"lockbench/internal/measure/suites"
	"lockbench/internal/world/servers"
	"lockbench/reports/bench"
)

// small returns the plan of a suite that needs only a few seconds on the emulator.
func small(t *testing.T, trials int) *Plan {
	t.Helper()
	s := suites.Suite{Name: "small", Trials: trials, Narrow: 0.001, Seed: 3, Sections: []suites.Section{
		{Name: "contended", Locks: []suites.Lock{{Name: "fenced"}, {Name: "setnx"}}, Baselines: []string{"none", "bare"}, Clients: []int{2},
			Hold: []time.Duration{time.Millisecond}, Duration: 50 * time.Millisecond},
		{Name: "alone", Locks: []suites.Lock{{Name: "set-px-lua"}}, Baselines: []string{"bare"}, Clients: []int{2}, Keys: []suites.Keys{suites.OneEach},
			Duration: 50 * time.Millisecond}}}.Filled()
	p, err := NewPlan(s, servers.Embedded, servers.Remote{})
	if err != nil || len(p.Notes)+len(p.Absent) > 0 {
		t.Fatal(err, p)
	}
	return p
}

// ready returns a bench that is ready to run a plan in a folder.
func ready(p *Plan, dir string) *Bench {
	return &Bench{Plan: p, Dir: dir, Setting: trial.Setting{Run: "test", Servers: servers.Embedded},
		Begin: func(Progress) {}, End: func(Progress, *bench.Trial) {}}
}

func names(p *Plan, pairs []bench.Pair) (all []string) {
	for _, pair := range pairs {
		all = append(all, p.Subjects[pair.Subject].Name+" at "+p.Points[pair.Point].ID)
	}
	return all
}

func TestPlanHasItsControls(t *testing.T) {
	got := names(small(t, 2), small(t, 2).Pairs)
	for _, want := range []string{
		"fenced at contended-2c-1k-1ms", "none at contended-2c-1k-1ms", "bare at alone-2c-2k-0ms", "set-px-lua at alone-2c-2k-0ms",
		"set-px-lua again at alone-2c-2k-0ms", "set-px-lua delayed at controls-alone", "set-px-lua at controls-alone",
		"none among others at controls-crowd", "stalled generator at controls-generator", "ping redis at round-trip",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not measured", want)
		}
	}
	if slices.Contains(got, "bare at contended-2c-1k-1ms") {
		t.Error("a loop that does not wait is measured where clients contend")
	}
}

func TestPlanLeavesOutWhatIsNotHere(t *testing.T) {
	s := suites.Suite{Name: "s", Sections: []suites.Section{{Name: "a", Clients: []int{1},
		Locks: []suites.Lock{{Name: "set-px-lua"}, {Name: "set-px-wait"}}}}}.Filled() // set-px-wait is left out, because it needs a replica
	p, err := NewPlan(s, servers.Embedded, servers.Remote{})
	if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "set-px-wait") {
		t.Fatalf("plan %+v, %v", p, err)
	}
	if slices.ContainsFunc(p.Subjects, func(s bench.Subject) bool { return s.Lock == "set-px-wait" }) {
		t.Error("it is measured")
	}
	s.Sections[0].Fault, s.Sections[0].Baselines = "holder-kill", []string{"none"}
	if p, _ := NewPlan(s, servers.Local, servers.Remote{}); slices.ContainsFunc(p.Subjects, func(s bench.Subject) bool { return s.Name == "none" }) {
		t.Error("there is a baseline under a fault")
	}
	s.Sections[0].Fault, s.Sections[0].Locks[1].Name = "session-kill", "setnx"
	if p, err := NewPlan(s, servers.Embedded, servers.Remote{}); err != nil || !slices.Contains(p.Notes, "session-kill is skipped for setnx: it is not held by a session") {
		t.Errorf("a fault that does not apply to a lock: %+v, %v", p, err)
	}
	s.Sections[0].Locks[0].Name = "nothing"
	if _, err := NewPlan(s, servers.Embedded, servers.Remote{}); err == nil {
		t.Error("a lock that does not exist is no error")
	}
}

// TestGoesOn checks that an interrupted bench can be resumed, and that finished trials are not repeated.
func TestGoesOn(t *testing.T) {
	dir := t.TempDir()
	ctx, cut := context.WithCancel(t.Context())
	ended := 0
	b := ready(small(t, 2), dir)
	b.End = func(Progress, *bench.Trial) {
		if ended++; ended == 5 {
			cut()
		}
	}
	if err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("cut short: %v", err)
	}
	before := trials(t, dir)
	if len(before) != 5 {
		t.Fatalf("%d trials after 5", len(before))
	}
	again := ready(small(t, 2), dir)
	again.Forget = true // remove only the histories of trials that the second bench runs
	var measured []string
	again.End = func(_ Progress, of *bench.Trial) { measured = append(measured, of.Dir) }
	if err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, text := range before {
		if slices.Contains(measured, name) || trials(t, dir)[name] != text {
			t.Errorf("%s was measured again", name)
		}
	}
	p := again.Plan
	if want := 2 * len(p.Pairs); len(measured)+5 != want || again.Stopped != "after 2 blocks, as planned" {
		t.Errorf("%d and 5 trials, want %d; stopped %q", len(measured), want, again.Stopped)
	}
	checkFigures(t, dir)
	stored, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", "history.jsonl.zst"))
	if len(stored) < 3 || len(stored) > 5 { // only the trials before the interruption have a history, because the baselines ping and bare record none
		t.Errorf("histories stored: %v", stored)
	}
}

// trials returns the contents of all trial files in a folder, by path.
func trials(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", bench.TrialName))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, filepath.Dir(f))
		all[filepath.ToSlash(name)] = string(text)
	}
	return all
}

// checkFigures checks the figures of a small bench. It checks only facts that are true on any machine.
func checkFigures(t *testing.T, dir string) {
	r, err := bench.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range r.Trials {
		f := of.Figures
		switch {
		case of.Discarded != "":
			t.Errorf("%s is discarded: %s", of.Dir, of.Discarded)
		case of.Point == pingPoint:
			if f["round_trip_p50"] <= 0 {
				t.Errorf("%s: round trip %v", of.Dir, f["round_trip_p50"])
			}
		case of.Subject == "bare":
			if f["goodput"] <= 0 || of.Judged != nil {
				t.Errorf("%s: %v, %v", of.Dir, f, of.Judged)
			}
		default:
			checkLock(t, of)
		}
		if of.Subject == "none among others" && of.Unsafe() == nil {
			t.Errorf("%s: no lock at all, and nothing violated", of.Dir)
		}
		if v := of.Unsafe(); v != nil && !v.Expected {
			t.Errorf("%s: %s", of.Dir, v.Text)
		}
	}
}

func checkLock(t *testing.T, of *bench.Trial) {
	f, sum := of.Figures, 0
	for _, n := range of.Shares {
		sum += n
	}
	if rate := float64(sum) / time.Duration(of.MeasuredNS).Seconds(); f["goodput"] < 0.99*rate || f["goodput"] > 1.01*rate || rate == 0 {
		t.Errorf("%s: goodput %v, and %v by the clients' own", of.Dir, f["goodput"], rate)
	}
	if of.Judged == nil || of.Judged.SHA256 == "" || of.Judged.Operations < 2*sum || of.WarmupNS < int64(shortWarmUp) {
		t.Errorf("%s: judged %+v, warm-up %v", of.Dir, of.Judged, time.Duration(of.WarmupNS))
	}
	if of.Subject == "fenced" && (f["attempts"] < 0.9 || f["round_trips"] < 1 || f["hold_mean"] < 1) {
		t.Errorf("%s: %v", of.Dir, f)
	}
	if of.Subject == "stalled generator" && f["late_max"] < 50 {
		t.Errorf("%s: a stall of %v is not noticed: late by %v ms", of.Dir, stall, f["late_max"])
	}
}

func TestTheBudgetEndsIt(t *testing.T) {
	p := small(t, 50)
	p.BudgetNS = int64(1500 * time.Millisecond)
	b := ready(p, t.TempDir())
	if err := b.Run(t.Context()); err != nil || !strings.Contains(b.Stopped, "the budget of 1.5s was used up in block") {
		t.Errorf("stopped %q, %v", b.Stopped, err)
	}
}

// TestOrder checks that the seed determines the order of trials, and that the order differs between blocks. Round-trip
// measurements must come first.
func TestOrder(t *testing.T) {
	order := func(seed uint64, block int) string {
		p := small(t, 2)
		p.Seed = seed
		b := &Bench{Plan: p}
		return fmt.Sprint(names(p, b.order(block, p.Pairs)))
	}
	if again := order(1, 0); again != order(1, 0) {
		t.Error("the same seed gave another order")
	}
	if order(1, 0) == order(1, 1) || order(1, 0) == order(2, 0) {
		t.Error("another block, or seed, gave the same order")
	}
	if !strings.HasPrefix(order(1, 0), "[ping redis at round-trip ") {
		t.Errorf("first: %s", order(1, 0))
	}
}

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want bool
	}{{1000, 1050, true}, {1000, 1500, false}, {10, 14, true}, {0, 40, false}, {0, 0, false}, {1, 1, true}} {
		if alike(c.a, c.b) != c.want {
			t.Errorf("%d and %d: want %v", c.a, c.b, c.want)
		}
	}
}

// TestCheckSufficient checks that too few trials or too small a budget cause an error that names sufficient values. The
// built-in suites must cause no error.
func TestCheckSufficient(t *testing.T) {
	for _, c := range []struct {
		trials int
		budget time.Duration
		want   string
	}{
		{7, 0, "7 trials cannot suffice: the controls need at least 8 trials"},
		{8, 0, ""},
		{8, 20 * time.Second, "a budget of 20s cannot suffice: 8 blocks of 13 trials take at least 40s; want --budget 50s"},
		{8, 40 * time.Second, ""},
	} {
		p := small(t, c.trials)
		p.BudgetNS = int64(c.budget)
		if err := p.CheckSufficient(); err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%d trials, %s: %v, want %s", c.trials, c.budget, err, c.want)
		}
	}
	for _, s := range suites.Shipped() {
		if p, err := NewPlan(s, servers.Embedded, servers.Remote{}); err != nil || p.CheckSufficient() != nil {
			t.Errorf("suite %s: %v, %v", s.Name, err, p.CheckSufficient())
		}
	}
}
