package suites

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/samber/lo"

	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
)

// whole is the YAML text of a suite with every configuration key.
const whole = `name: all
doc: every key
trials: 8
max_trials: 20
budget: 5m
narrow: 0.1
seed: 18446744073709551615
sections:
  - name: one
    locks:
      - fenced
      - set-px-lua@cluster
      - {name: set-px-lua, as: set-px-lua-spin, params: {wait: spin, tries: 3}}
    baselines: [none, bare]
    workload: contend
    clients: [4, 16]
    keys: [1, clients]
    hold: [0, 1500us]
    wait: 2s
    ttl: 5s
    processes: 8
    arrivals: poisson
    rate: [100, 0.5]
    fault: none
    duration: 10ms
    rounds: 3
thresholds:
  - {lock: fenced, section: one, clients: [4, 16], metric: goodput, ratio_to: [bare, none], min: 0.5, max: 2}
  - {lock: set-px-lua-spin, metric: commands, max: 10, ratio_to_baseline: true}
`

func parsed(t *testing.T, text string) *Suite {
	t.Helper()
	s, err := Parse("s.yaml", []byte(text), Known{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryKey(t *testing.T) {
	half, two, ten := 0.5, 2.0, 10.0
	fenced := bench.Threshold{Subject: "fenced", Section: "one", Metric: "goodput", Min: &half, Max: &two}
	var limits []bench.Threshold
	for _, clients := range []int{4, 16} {
		for _, to := range []string{"bare", "none"} {
			fenced.Clients, fenced.To = clients, to
			limits = append(limits, fenced)
		}
	}
	want := &Suite{Name: "all", Doc: "every key", Trials: 8, MaxTrials: 20, Budget: 5 * time.Minute, Narrow: 0.1, Seed: 1<<64 - 1,
		Sections: []Section{{Name: "one",
			Locks:     []Lock{{Name: "fenced"}, {Name: "set-px-lua", Deployment: "cluster"}, {Name: "set-px-lua", As: "set-px-lua-spin", Params: map[string]string{"wait": "spin", "tries": "3"}}},
			Baselines: []string{"none", "bare"}, Workload: "contend", Clients: []int{4, 16}, Keys: []Keys{1, OneEach},
			Hold: []time.Duration{0, 1500 * time.Microsecond}, Wait: 2 * time.Second, TTL: 5 * time.Second, Processes: 8,
			Arrivals: bench.Poisson, Rate: []float64{100, 0.5}, Fault: "none", Duration: 10 * time.Millisecond, Rounds: 3}},
		Thresholds: append(limits, bench.Threshold{Subject: "set-px-lua-spin", Metric: "commands", Max: &ten, ToBaseline: true})}
	got := parsed(t, whole)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var names []string
	for _, l := range got.Sections[0].Locks {
		names = append(names, l.Subject())
	}
	if want := []string{"fenced", "set-px-lua@cluster", "set-px-lua-spin"}; !slices.Equal(names, want) {
		t.Errorf("subjects %v, want %v", names, want)
	}
}

func TestDefaults(t *testing.T) {
	want := &Suite{Name: "few", Trials: 10, MaxTrials: 10, Narrow: 0.05, Sections: []Section{{Name: "one", Locks: []Lock{{Name: "fenced"}},
		Workload: "contend", Clients: []int{16}, Keys: []Keys{1}, Hold: []time.Duration{0}, TTL: 10 * time.Second, Processes: 2,
		Arrivals: bench.Closed, Fault: "none", Duration: 500 * time.Millisecond}}}
	if diff := cmp.Diff(want, parsed(t, few)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPoints(t *testing.T) {
	var got []string
	for _, p := range parsed(t, whole).Points() {
		got = append(got, fmt.Sprintf("%s: %d clients in %d, %d keys, %v, %v/s for %v", p.ID, p.Clients, p.Processes, p.Keys, time.Duration(p.HoldNS), p.Rate, time.Duration(p.DurationNS)))
	}
	want := []string{
		"one-4c-1k-0ms-100rps: 4 clients in 4, 1 keys, 0s, 100/s for 10ms",
		"one-4c-1k-0ms-0.5rps: 4 clients in 4, 1 keys, 0s, 0.5/s for 10ms",
		"one-4c-1k-1500us-100rps: 4 clients in 4, 1 keys, 1.5ms, 100/s for 21.6ms",
		"one-4c-1k-1500us-0.5rps: 4 clients in 4, 1 keys, 1.5ms, 0.5/s for 21.6ms",
		"one-4c-4k-0ms-100rps: 4 clients in 4, 4 keys, 0s, 100/s for 10ms",
		"one-4c-4k-0ms-0.5rps: 4 clients in 4, 4 keys, 0s, 0.5/s for 10ms",
		"one-4c-4k-1500us-100rps: 4 clients in 4, 4 keys, 1.5ms, 100/s for 10ms",
		"one-4c-4k-1500us-0.5rps: 4 clients in 4, 4 keys, 1.5ms, 0.5/s for 10ms",
		"one-16c-1k-0ms-100rps: 16 clients in 8, 1 keys, 0s, 100/s for 14.4ms",
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" || len(got) != 16 {
		t.Errorf("%d points, want 16; -want +got:\n%s", len(got), diff)
	}
	first := parsed(t, few).Points()
	if want := []bench.Point{{ID: "one-16c-1k-0ms", Section: "one", Workload: "contend", Clients: 16, Processes: 2, Keys: 1,
		TTLNS: 1e10, Arrivals: bench.Closed, Fault: "none", DurationNS: 5e8}}; !slices.Equal(first, want) {
		t.Errorf("got %+v, want %+v", first, want)
	}
}

func TestKnown(t *testing.T) {
	known := Known{Locks: []string{"fenced", "set-px-lua"}, Workloads: []string{"contend"}, Faults: []string{"none"},
		Lock: func(l Lock) error {
			if l.Deployment == "cluster" {
				return errors.New("set-px-lua is not for a cluster")
			}
			return nil
		}}
	_, err := Parse("s.yaml", []byte(whole), known)
	if want := "s.yaml:12:9: locks: set-px-lua is not for a cluster"; err == nil || listedOf(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Parse("s.yaml", []byte(few+"  - {name: two, clients: 4, locks: fenced@, workload: contend@single}\n"), known)
	if want := "s.yaml:6:36: locks: fenced@ names no deployment (want fenced@deployment)\n" +
		"s.yaml:6:55: workload: contend@single is none of contend (did you mean contend?)"; err == nil || listedOf(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	known.Locks, known.Faults, known.Lock = []string{"fenced", "redlock"}, []string{"holder-kill"}, nil
	_, err = Parse("s.yaml", []byte(whole), known)
	want := `s.yaml:12:9: locks: set-px-lua@cluster is none of fenced, redlock
s.yaml:13:16: name: set-px-lua is none of fenced, redlock
s.yaml:24:12: fault: none is none of holder-kill`
	if err == nil || listedOf(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestShipped(t *testing.T) {
	there, err := filepath.Glob("shipped/*.yaml")
	if err != nil || len(there) != len(Shipped()) {
		t.Errorf("%d files and %d suites (%v): the table lacks one", len(there), len(Shipped()), err)
	}
	for _, s := range Shipped() {
		if _, ok := Source(s.Name); !ok {
			t.Errorf("%s is in a file of another name", s.Name)
		}
		if s.Doc == "" || s.Trials < 6 {
			t.Errorf("%s: a suite of ours says what it answers, and an interval takes 6 trials", s.Name)
		}
		var measured time.Duration
		for i := range s.Sections {
			for _, p := range s.Sections[i].Points() {
				measured += time.Duration(len(s.Sections[i].names())*s.Trials) * time.Duration(p.DurationNS)
			}
		}
		if s.Budget > 0 && measured > s.Budget*4/5 {
			t.Errorf("%s: its windows take %v of %v, which leaves too little for the rest", s.Name, measured, s.Budget)
		}
	}
	if _, ok := Source("quik"); ok {
		t.Error("what is not there is found")
	}
}

// checkAgain checks that writing and reading a suite does not change it.
func checkAgain(t *testing.T, s *Suite) {
	t.Helper()
	text := Write(*s)
	again, err := Parse("again.yaml", text, Known{})
	if err != nil {
		t.Fatalf("what was read is refused when it was written: %v\n%s", err, text)
	}
	if diff := cmp.Diff(s, again); diff != "" {
		t.Errorf("-first +again:\n%s\n%s", diff, text)
	}
}

func TestAgain(t *testing.T) {
	checkAgain(t, parsed(t, whole))
	for _, s := range Shipped() {
		checkAgain(t, &s)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	for _, name := range shippedNames() {
		text, _ := Source(name)
		f.Add(string(text))
	}
	for _, b := range broken() {
		f.Add(b.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("s.yaml", []byte(text), Known{})
		if err != nil {
			if lines := strings.Split(listedOf(err), "\n"); len(lines) > yamlfile.MaxWrong+1 || !strings.HasPrefix(lines[0], "s.yaml:") {
				t.Errorf("%q", err)
			}
			return
		}
		checkAgain(t, s)
		if n := len(s.Points()); n > maxPoints {
			t.Errorf("%d points", n)
		}
	})
}

// Points returns all combinations of conditions in the suite.
func (s *Suite) Points() []bench.Point {
	return lo.FlatMap(s.Sections, func(c Section, _ int) []bench.Point { return c.Points() })
}
