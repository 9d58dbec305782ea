package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// newPool starts a pool whose child processes run this test binary.
func newPool(t *testing.T, how string, size int) *Pool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPool([]string{self, how}, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// newQueue starts a queue whose cases run in a pool of the given size.
func newQueue(t *testing.T, size int) *Queue {
	t.Helper()
	q, end, err := Alone(t.Context(), t.TempDir(), newPool(t, "explorer", size), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return q
}

// explorable returns the Redis locks that can run in simulated trials. It omits locks without a store and locks that
// Subject.Refused refuses.
func explorable() []Subject {
	var all []Subject
	for _, l := range catalog.OnRedis() {
		if s := (Subject{Lock: l.Name}); l.Store != "" && s.Refused() == nil {
			all = append(all, s)
		}
	}
	return all
}

// TestSameInTwoProcesses checks that two processes record the same history for the same seed. It checks every lock.
func TestSameInTwoProcesses(t *testing.T) {
	t.Parallel()
	count := uint64(50)
	if raced {
		count = 10
	}
	pools := [2]*Pool{newPool(t, "explorer", 1), newPool(t, "explorer", 1)}
	for _, s := range explorable() {
		t.Run(s.Lock, func(t *testing.T) {
			t.Parallel()
			var found [2][]Seed
			var errs [2]error
			var work sync.WaitGroup
			for i := range found {
				work.Go(func() { found[i], errs[i] = pools[i].Search(t.Context(), s, 0, count) })
			}
			work.Wait()
			if err := errors.Join(errs[:]...); err != nil {
				t.Fatal(err)
			}
			if len(found[0]) != int(count) || len(found[1]) != int(count) {
				t.Fatalf("%d and %d seeds", len(found[0]), len(found[1]))
			}
			different := map[string]bool{}
			for seed, x := range found[0] {
				if other := found[1][seed]; x.Digest != other.Digest || x.Failed != "" || other.Failed != "" {
					t.Errorf("seed %d: two processes recorded %s and %s, %s%s", seed, x.Digest, other.Digest, x.Failed, other.Failed)
				}
				different[x.Digest] = true
			}
			if len(different) < int(count)*9/10 {
				t.Errorf("%d seeds recorded only %d different histories", count, len(different))
			}
		})
	}
}

// TestDefectsAreFound checks that exploring finds and minimises the known defect of each listed lock.
func TestDefectsAreFound(t *testing.T) {
	if raced {
		t.Skip("it takes too long with the race detector")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []struct {
		subject  Subject
		property string
		seeds    uint64 // several times the number of seeds that the search needs
	}{
		{Subject{Lock: "set-px"}, "lease-exclusion", 100},
		{Subject{Lock: "set-px-getdel", Faults: []string{"process-pause", "slow-network"}}, "lease-exclusion", 300},
		{Subject{Lock: "setnx"}, "recovery", 300},
		{Subject{Lock: "blind-renewal"}, "renewal", 200},
		{Subject{Lock: "shared-token", Faults: []string{"holder-stall", "process-pause"}}, "lease-exclusion", 600},
		{Subject{Lock: "reentrant-flag"}, "reentrancy", 20},
		{Subject{Lock: "redlock", Deployment: "five", Faults: []string{"node-restart", "partition"}}, "lease-exclusion", 600},
		{Subject{Lock: "redlock", Deployment: "five", Faults: []string{"clock-forward", "partition"}}, "lease-exclusion", 600},
		{Subject{Lock: "redisson", Faults: []string{"process-pause"}}, "mutual-exclusion", 200},
		{Subject{Lock: "fenced", Deployment: "replica", Faults: []string{"failover"}}, "lease-exclusion", 200},
	} {
		name := strings.Join(append([]string{c.subject.Lock, c.property}, c.subject.Faults...), " ")
		t.Run(name, func(t *testing.T) {
			for seed := range c.seeds {
				x, err := c.subject.Try(seed)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(x.Violated, c.property) {
					continue
				}
				x.Violated = []string{c.property}
				minimised, err := c.subject.Minimise([]Seed{x}, 1, time.Minute)
				if err != nil || len(minimised.Counterexamples) != 1 || len(minimised.Nondeterministic) > 0 {
					t.Fatalf("%+v, %v", minimised, err)
				}
				s := minimised.Counterexamples[0]
				t.Logf("seed %d: %+v, from %+v in %d trials", seed, s.To, s.From, s.Trials)
				for i := range s.Case.Plan.Steps { // the counterexample must be minimal: without any one step, the violation is lost
					less := s.Case.clone()
					less.Plan.Steps = slices.Delete(less.Plan.Steps, i, i+1)
					if r, err := less.Run(); err == nil && slices.Contains(r.Violated(), c.property) {
						t.Errorf("violated without %s too", s.Case.Plan.Steps[i].Name)
					}
				}
				if s.Property != c.property || s.To.Faults > 3 || s.To.Operations > 35 || s.To.compare(s.From) > 0 || len(s.Events) == 0 || s.Timeline == "" {
					t.Errorf("%+v", s)
				}
				return
			}
			t.Errorf("not found in %d seeds", c.seeds)
		})
	}
}

// TestCampaign checks that the result of Campaign.Run depends only on the seeds. The number of child processes must not
// matter.
func TestCampaign(t *testing.T) {
	t.Parallel()
	var found [2]bytes.Buffer
	search := func(i int) error {
		progress := 0
		c := Campaign{Subjects: []Subject{{Lock: "set-px"}, {Lock: "set-px-lua"}}, First: 7, Seeds: 40, Counterexamples: 2, Progress: func(Progress) { progress++ }}
		r, err := c.Run(t.Context(), newQueue(t, i+1))
		if err != nil {
			return err
		}
		if progress == 0 || len(r.Locks) != 2 || r.Locks[0].Seeds != 40 || len(r.Locks[0].Counterexamples) == 0 || len(r.Locks[0].Met) == 0 {
			t.Errorf("%+v", r.Locks[0])
		}
		for _, p := range r.Locks[1].Properties {
			if p.Fails > 0 {
				t.Errorf("set-px-lua violates %s, which is expected to hold, in seed %d", p.Property, p.FirstFail)
			}
		}
		return json.NewEncoder(&found[i]).Encode(r)
	}
	var errs [2]error
	var work sync.WaitGroup
	for i := range found {
		work.Go(func() { errs[i] = search(i) })
	}
	work.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(found[0].Bytes(), found[1].Bytes()) {
		t.Errorf("one process found\n%s\ntwo\n%s", &found[0], &found[1])
	}
}

// TestCampaignInTime checks that Campaign.Run tries every lock and ends at its time limit.
func TestCampaignInTime(t *testing.T) {
	c := Campaign{Subjects: []Subject{{Lock: "set-px"}, {Lock: "setnx"}}, For: time.Second, Counterexamples: 1}
	r, err := c.Run(t.Context(), newQueue(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Locks {
		if l.Seeds < virtualBatch {
			t.Errorf("%s: %d seeds", l.Lock, l.Seeds)
		}
	}
}

// TestReplay checks Replay in a child process and in this process with GOMAXPROCS=1. Both must return the same result.
func TestReplay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, f := []string{self, "explorer"}, stalled(t)
	there, err := Replay(t.Context(), program, f, 100)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(there.Violated, f.Property) || there.Timeline == "" || len(there.Events) == 0 {
		t.Errorf("%+v", there)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Replay(interrupted, program, f, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	runtime.GOMAXPROCS(1)
	if here, err := Replay(t.Context(), nil, f, 100); err != nil || !reflect.DeepEqual(here, there) {
		t.Errorf("here %+v, %v\nthere %+v", here, err, there)
	}
}

// TestDeadExplorer runs four seeds in a child process that exits at seed 2. Only this seed must be reported as
// failed.
func TestDeadExplorer(t *testing.T) {
	all, err := newPool(t, "mortal", 1).Search(t.Context(), Subject{Lock: "any"}, 0, 4)
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, x := range all {
		failed := x.Failed != ""
		if x.Seed != uint64(i) || failed != (i == 2) {
			t.Errorf("%+v", x)
		}
	}
	if !strings.Contains(all[2].Failed, "out of ideas") {
		t.Errorf("its standard error is missing: %s", all[2].Failed)
	}
}

// TestNondeterministic checks a seed that records a different history when repeated. If its violation does not show again, the seed
// must be listed as nondeterministic and yield no counterexample. Otherwise the counterexample must state how often it showed.
func TestNondeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := Subject{Lock: "reentrant-flag"}
	x, err := s.Try(1)
	if err != nil || len(x.Violated) == 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	x.Digest = "another"
	minimised, err := s.Minimise([]Seed{x}, 4, time.Minute)
	if err != nil || len(minimised.Counterexamples) != 1 || minimised.Counterexamples[0].Rate.Shows != reported || len(minimised.Nondeterministic) > 0 {
		t.Errorf("%+v, %v", minimised, err)
	}
	x.Violated = []string{"progress"}
	minimised, err = s.Minimise([]Seed{x}, 4, time.Minute)
	if err != nil || len(minimised.Counterexamples) > 0 || !slices.Equal(minimised.Nondeterministic, []uint64{1}) {
		t.Errorf("%+v, %v", minimised, err)
	}
}

// TestExpectationsOfPlans checks the expectations for plans of several faults. A property may be expected to hold only
// if it is expected to hold under each fault alone, or if it tolerates faults by definition.
func TestExpectationsOfPlans(t *testing.T) {
	steps := map[string]faults.Step{
		"partition": {Do: faults.Action{Verb: faults.Cut}, For: ttl * 2},
		"stall":     {Do: faults.Action{Verb: faults.Stall, By: ttl * 2}},
		"restart":   {Do: faults.Action{Verb: faults.Restart, Nodes: []int{0}}},
		"slow":      {Do: faults.Action{Verb: faults.Slow, By: ttl / 20}},
		"slower":    {Do: faults.Action{Verb: faults.Slow, By: ttl}},
		"back":      {Do: faults.Action{Verb: faults.Jump, Nodes: []int{0}, By: -ttl}},
		"unheard":   {Do: faults.Action{Verb: "unheard-of"}},
	}
	for _, c := range []struct {
		lock, plan string
		holds      []string
	}{
		{"set-px-lua", "", []string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "truthful-answer"}},
		{"set-px-lua", "slow", []string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "truthful-answer"}},
		{"set-px-lua", "slow slower", []string{"lease-exclusion", "truthful-answer"}},
		{"set-px-lua", "slow stall", []string{"lease-exclusion", "truthful-answer"}},
		{"set-px-lua", "stall restart", []string{"truthful-answer"}},
		{"set-px-lua", "back", []string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "truthful-answer"}},
		{"set-px-lua", "stall back", []string{"lease-exclusion", "truthful-answer"}},
		{"set-px-lua", "unheard", nil},
		{"set-px", "stall", nil},
		{"none", "", nil},
	} {
		plan := faults.Plan{}
		for name := range strings.FieldsSeq(c.plan) {
			plan.Steps = append(plan.Steps, steps[name])
		}
		trial, err := Case{Lock: c.lock, Deployment: "single", Workload: "counter", Plan: plan, Params: workloads.Params{Clients: 2, Processes: 2, TTL: ttl}}.Trial()
		if err != nil && c.plan != "unheard" {
			t.Fatal(err)
		}
		var holds []string
		for _, e := range trial.Expectations {
			if e.Expected == histories.ToHold {
				holds = append(holds, e.Property)
			}
		}
		if c.lock == "set-px-lua" {
			if !strings.Contains(c.plan, "back") && c.plan != "unheard" {
				c.holds = append(c.holds, "no-orphan")
			}
			c.holds = append(c.holds, "prompt-hand-off", "wait-honoured", "responsive", "abandoned-acquire", "backed-promise")
		}
		if !slices.Equal(holds, c.holds) {
			t.Errorf("%s under %q: expected to hold are %q, want %q", c.lock, c.plan, holds, c.holds)
		}
	}
}

// TestStepsAreFaultsOfTheTable checks the names of the steps in a fault plan. Each must be the name of a fault in
// package faults.
func TestStepsAreFaultsOfTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, f := range faults.All() {
		known[f.Name] = true
	}
	for _, s := range explorable() {
		for seed := range uint64(200) {
			c, strategy, err := s.Choose(seed)
			if err != nil {
				t.Fatal(err)
			}
			trial, err := c.Trial()
			if err != nil {
				t.Errorf("%s, seed %d, %s: %v", s.Lock, seed, strategy, err)
			}
			for _, step := range c.Plan.Steps {
				if step.Name == "" {
					t.Errorf("%s, seed %d: a step without a name: %+v", s.Lock, seed, step)
				}
				for _, kind := range kinds(step, trial) {
					if !known[kind] {
						t.Errorf("%s, seed %d: %s is of the unknown kind %s", s.Lock, seed, step.Name, kind)
					}
				}
			}
		}
	}
}

// TestFixed replays cases in which a lock of this repository once violated a property that it was expected to satisfy.
// These defects are fixed, so no lock may violate the property again.
func TestFixed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	files, err := filepath.Glob("testdata/fixed/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Run()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(r.Violated(), f.Property) {
			t.Errorf("%s: %s is violated again: %s", name, f.Property, r.Verdict.Finding(f.Property).Witness.Sentence)
		}
		if r.Discarded != "" {
			t.Errorf("%s: %s", name, r.Discarded)
		}
	}
}

// TestOrphanedExplorer checks that a child process ends at once when its standard input ends. This must happen even
// during a request.
func TestOrphanedExplorer(t *testing.T) {
	p := newPool(t, "explorer", 1)
	e := <-p.idle
	if err := json.NewEncoder(e.in).Encode(request{Subject: Subject{Lock: "redlock"}, Count: 1_000_000}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // give the child process time to begin the request
	e.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- e.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the process did not end")
		e.end()
	}
}
