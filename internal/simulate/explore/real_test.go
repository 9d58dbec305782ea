package explore

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// newRealTest returns an engine for real Redis servers.
func newRealTest(t *testing.T) *Real {
	t.Helper()
	if err := stores.Missing(servers.Redis); err != nil {
		t.Skip(err)
	}
	own, err := trial.OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int64
	r := NewReal(trial.Setting{Servers: servers.Local, Params: workloads.Defaults(), Worker: own},
		func() string { return fmt.Sprint("explore-test-", runs.Add(1)) }, 4)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// stalling returns a seed whose case lets the holder outlive its lease in its first iteration.
func stalling(t *testing.T, s Subject) uint64 {
	t.Helper()
	for seed := range uint64(10_000) {
		c, _, err := s.Choose(seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Plan.Steps) != 1 || c.Params.Keys > 1 || c.Params.Wait > 0 || c.Workload != "contend" {
			continue
		}
		if step := c.Plan.Steps[0]; step.When.At.Iteration == 0 && step.When.On == nil && step.Do.By > c.Params.TTL*5/4 {
			return seed
		}
	}
	t.Fatal("no case has a long stall")
	return 0
}

// TestReal searches for a violation on real servers. A lock without renewal lets a holder outlive its lease. The search
// must find this violation and show it again. It is expected, so it is no failure.
func TestReal(t *testing.T) {
	r := newRealTest(t)
	s := Subject{Servers: servers.Local, Lock: "set-px-lua", Faults: []string{"holder-stall"}}
	from := stalling(t, s)
	seeds, err := r.Search(t.Context(), s, from, 1)
	if err != nil || len(seeds) != 1 || seeds[0].Failed != "" {
		t.Fatalf("%+v: %v", seeds, err)
	}
	if seeds[0].Void != "" { // the trial was discarded, because the machine was too slow
		t.Skip(seeds[0].Void)
	}
	if !slices.Contains(seeds[0].Violated, "mutual-exclusion") || len(seeds[0].Fails()) > 0 {
		t.Fatalf("%+v", seeds[0])
	}
	m, err := r.Minimise(t.Context(), s, seeds, 1, 5*time.Second)
	if err != nil || len(m.Counterexamples) != 1 {
		t.Fatalf("%+v: %v", m, err)
	}
	x := m.Counterexamples[0]
	if x.Case.Servers != servers.Local || x.Rate == nil || x.Rate.Shows == 0 || x.Fails || len(x.Events) == 0 || len(x.Case.Plan.Steps) != 1 {
		t.Errorf("%+v", x)
	}
}

// TestUnconfirmed checks a violation on real servers that does not show again. It must not become a counterexample. If
// the property was expected to hold, the result must be inconclusive.
func TestUnconfirmed(t *testing.T) {
	r := newRealTest(t)
	s := Subject{Servers: servers.Local, Lock: "set-px-lua", Faults: []string{"holder-abandon"}}
	seed := Seed{Seed: 1, Violated: []string{"owner-release"}, Expected: []string{"owner-release"}, History: &Recorded{Name: "kept"}}
	m, err := r.Minimise(t.Context(), s, []Seed{seed}, 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Counterexamples) != 0 || len(m.Unconfirmed) != 1 || m.Unconfirmed[0].Rate.Shows != 0 || m.Unconfirmed[0].History == nil {
		t.Errorf("%+v", m)
	}
	if l := (&LockResult{Minimised: m}); l.Fails(true) || !l.Inconclusive() {
		t.Errorf("%+v", l)
	}
}

// TestRealCases checks that every case that is chosen for real servers can run on them.
func TestRealCases(t *testing.T) {
	verbs := map[faults.Verb]bool{}
	for _, lock := range []string{"set-px-lua", "redlock", "redsync", "postgres-advisory", "zookeeper", "etcd"} {
		s := Subject{Servers: servers.Local, Lock: lock}
		for seed := range uint64(60) {
			c, _, err := s.Choose(seed)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", lock, seed, err)
			}
			for _, step := range c.Plan.Steps {
				verbs[step.Do.Verb] = true
			}
		}
	}
	if verbs[faults.Drift] || !verbs[faults.Pause] || !verbs[faults.Restart] {
		t.Errorf("actions: %v", verbs)
	}
}

// TestTakeIdleStage checks which idle stage a case gets, and when an idle stage must be closed first.
func TestTakeIdleStage(t *testing.T) {
	one, three := idleStage{new(trial.Stage), "zookeeper@single"}, idleStage{new(trial.Stage), "zookeeper@three"}
	full := slices.Repeat([]idleStage{one}, stagesPerSlot-1)
	for name, c := range map[string]struct {
		idle       []idleStage
		asked      string
		own, other *trial.Stage
	}{
		"a stage with the name":   {[]idleStage{one, three}, three.name, three.Stage, nil},
		"none, and few stages":    {full, three.name, nil, nil},
		"none, and too many":      {append(full, one), three.name, nil, one.Stage},
		"none, and no idle stage": {nil, three.name, nil, nil},
	} {
		r := NewReal(trial.Setting{}, nil, 1)
		r.slots <- struct{}{} // the caller's slot
		r.idle = slices.Clone(c.idle)
		own, other := r.takeIdleStage(c.asked)
		if own != c.own || other != c.other {
			t.Errorf("%s: got %p and %p, want %p and %p", name, own, other, c.own, c.other)
		}
	}
}
