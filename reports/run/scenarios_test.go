package run

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/histories"
)

// writeScenarios writes a run folder with two scenarios. Both scenarios test the same lock on the same deployments, in the
// same workload.
func writeScenarios(t *testing.T, dir string) {
	t.Helper()
	m := sampleManifest()
	m.Interrupted = false
	m.Scenarios = []Scenario{
		{"stale-holder", "A holder that was paused comes back", "a lease is no lock", "The holder is stopped for longer than its lease, and another client is granted the key. Then it continues and writes."},
		{"crash-after-release", "A holder is killed", "", "The key is never released."},
	}
	lock := sampleLocks()[2]
	for _, s := range m.Scenarios {
		for _, deployment := range []string{"single", "replica"} {
			c := Cell{Dir: s.Name + "/" + lock.name + "@" + deployment, Lock: lock.name, Deployment: deployment, Workload: "counter", Fault: "holder-stall", Scenario: s.Name}
			m.Plan = append(m.Plan, c)
			lock.sections = 200
			for n := range 40 {
				f := sampleTrial(lock, c, uint64(n))
				if n > 0 && s.Name == "stale-holder" { // the property is violated in one trial only
					f.verdict.Findings[1] = checker.Finding{Property: "mutual-exclusion", Observed: checker.Held, Evidence: "all pairs of holds on 1 key"}
				}
				if s.Name == "crash-after-release" {
					f.header.Expectations = []histories.Expectation{{Property: "lease-exclusion", Expected: histories.ToHold, Because: "the server alone grants it"}}
				}
				writeTrial(t, filepath.Join(dir, c.Dir, fmt.Sprintf("%03d", n+1)), f)
			}
		}
	}
	m.Plan = append(m.Plan, Cell{Dir: "apart", Lock: lock.name, Deployment: "single", Workload: "counter", Fault: "none"})
	if err := WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
}

// TestScenarios checks that the report groups results by scenario and counts their trials.
func TestScenarios(t *testing.T) {
	dir := t.TempDir()
	if *keep != "" {
		dir = *keep + "-scenarios"
	}
	writeScenarios(t, dir)
	r, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Text(&text, false, true); err != nil {
		t.Fatal(err)
	}
	golden(t, "scenarios.txt", text.Bytes())
	golden(t, "scenarios.md", read(t, dir, "report", "report.md"))
	golden(t, "rates.md", read(t, dir, "report", "rates.md"))
	checkPageHangsTogether(t, dir, r)
	checkResultsFitTheSchema(t, dir, r)
	for _, o := range r.Cells {
		want := 40
		if o.Scenario == "stale-holder" {
			want = 1
		}
		if o.Property == "mutual-exclusion" && (o.Trials != 40 || o.ViolatedIn != want) {
			t.Errorf("%s: violated in %d of %d trials, want %d of 40", o.Scenario, o.ViolatedIn, o.Trials, want)
		}
	}
}

func TestScenariosThatCannotBe(t *testing.T) {
	for name, m := range map[string]Manifest{
		"no name": {Scenarios: []Scenario{{}}},
		"twice":   {Scenarios: []Scenario{{Name: "a"}, {Name: "a"}}},
		"unknown": {Plan: []Cell{{Dir: "d", Lock: "l", Workload: "w", Scenario: "a"}}},
	} {
		if err := m.check(); err == nil || !strings.Contains(err.Error(), "scenario") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRates(t *testing.T) {
	o := func(observed checker.Observed, hits, n int) Observation {
		return Observation{Observed: observed, Trials: n, ViolatedIn: hits, UndecidedIn: hits}
	}
	for _, c := range []struct {
		o    Observation
		want string
	}{
		{o(checker.Violated, 97, 100), "violated in 97 of 100 trials (95 % interval 91-100 %)"},
		{o(checker.Violated, 500, 500), "violated in 500 of 500 trials (95 % interval 99-100 %)"},
		{o(checker.Held, 0, 500), "violated in 0 of 500 trials (95 %: below 0.8 %)"},
		{o(checker.Held, 0, 20), "violated in 0 of 20 trials (95 %: below 17 %)"},
		{o(checker.Undecided, 3, 20), "undecided in 3 of 20 trials"},
		{o(checker.Violated, 1, 1), ""},
		{o(checker.NotApplicable, 0, 0), ""},
	} {
		if got := inTrials(c.o); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
