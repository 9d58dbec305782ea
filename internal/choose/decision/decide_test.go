package decision

import (
	"lockbench/reports/selection"
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/stats"
)

// simple returns the requirements of a user whose data is corrupted if two clients hold the lock at once.
func simple() selection.Needs {
	return selection.Needs{TwoHold: selection.Corruption, Fence: selection.NoCheck, Hold: times(time.Millisecond, 10*time.Millisecond, 100*time.Millisecond), Clients: 2,
		Pauses: selection.Pauses{PerHour: 60, P50: time.Millisecond, P99: 10 * time.Millisecond, Longest: 300 * time.Millisecond}, Recovery: 10 * time.Second, Stores: []string{"redis"}}
}

// passingLock returns a lock, and evidence that the lock meets the requirements returned by simple(). The parameter recovery is
// the lock's recovery time as a multiple of the lease.
func passingLock(recovery float64) ([]selection.Option, selection.Evidence) {
	o := selection.Option{Name: "x", Kind: selection.ALock, Store: "redis", Deployment: "single", Lease: selection.Renewed, Languages: map[string]string{"any": "x"}}
	var e selection.Evidence
	add := func(property, workload, fault, scenario string) {
		e.Findings = append(e.Findings, selection.Finding{ID: "P" + property + fault + scenario, Lock: "x", Deployment: "single", Workload: workload, Fault: fault, Scenario: scenario,
			Property: property, Observed: checker.Held, Trials: 1, Operations: 10, TTLNS: int64(time.Second), Histories: []selection.History{}})
	}
	for _, fault := range []string{"none", "slow-network", "lost-reply", "partition", "delayed-release", "cancelled-acquire"} {
		add("mutual-exclusion", "counter", fault, "")
	}
	add("owner-release", "misuse", "none", "")
	add("recovery", "counter", "holder-kill", "")
	add("mutual-exclusion", "counter", LongestPause, PauseScenario(300*time.Millisecond))
	e.Figures = []selection.Figure{{ID: "M1", Lock: "x", Deployment: "single", Metric: selection.RecoveryMetric, Point: bench.Point{TTLNS: int64(time.Second)},
		Estimate: stats.EstimateOf([]float64{recovery}, []int{0}), Histories: []selection.History{}}}
	return []selection.Option{o}, e
}

// fails returns the names of all requirements that the first eliminated candidate does not meet, or whose answer is unknown.
func fails(n selection.Needs, options []selection.Option, e selection.Evidence) []string {
	d := Decide(n, options, e).Decision
	if len(d.Eliminated) == 0 {
		return nil
	}
	return append(slices.Clone(d.Eliminated[0].Fails), d.Eliminated[0].Unknown...)
}

// TestOneThingMissing checks that a lock that meets all requirements is recommended. It also checks that the lock is
// eliminated if it fails any one requirement.
func TestOneThingMissing(t *testing.T) {
	options, e := passingLock(1)
	if got := Decide(simple(), options, e).Decision; got.Outcome != selection.OneLock || !slices.Equal(got.Recommended, []string{"x"}) {
		t.Fatalf("%s %v: %+v", got.Outcome, got.Recommended, got.Eliminated)
	}
	for name, c := range map[string]struct {
		change func(*selection.Needs, []selection.Option, *selection.Evidence)
		want   string
	}{
		"undecided": {func(_ *selection.Needs, _ []selection.Option, e *selection.Evidence) {
			e.Findings[2].Observed = checker.Undecided
		}, "network"},
		"violated": {func(_ *selection.Needs, _ []selection.Option, e *selection.Evidence) {
			e.Findings[3].Observed = checker.Violated
		}, "network"},
		"not tried": {func(_ *selection.Needs, _ []selection.Option, e *selection.Evidence) { e.Findings = e.Findings[1:] }, "exclusion"},
		"does not apply": {func(_ *selection.Needs, _ []selection.Option, e *selection.Evidence) {
			e.Findings[6].Observed = checker.NotApplicable
		}, "release"},
		"another pause": {func(n *selection.Needs, _ []selection.Option, _ *selection.Evidence) {
			n.Pauses.Longest = 3 * time.Second
		}, "pause"},
		"slow to recover": {func(_ *selection.Needs, _ []selection.Option, e *selection.Evidence) {
			e.Figures[0].Estimate = stats.EstimateOf([]float64{11}, []int{0})
		}, "crash"},
		"recovery not measured": {func(_ *selection.Needs, _ []selection.Option, e *selection.Evidence) { e.Figures = nil }, "crash"},
		"another store":         {func(n *selection.Needs, _ []selection.Option, _ *selection.Evidence) { n.Stores = []string{"mysql"} }, "available"},
		"another language": {func(n *selection.Needs, o []selection.Option, _ *selection.Evidence) {
			n.Language, o[0].Languages = []string{"java"}, map[string]string{"go": "x"}
		}, "language"},
		"re-entry": {func(n *selection.Needs, _ []selection.Option, _ *selection.Evidence) { n.Reenters = true }, "reentrancy"},
		"no fencing tokens": {func(n *selection.Needs, _ []selection.Option, e *selection.Evidence) {
			n.Fence = selection.OnAll
			last := &e.Findings[len(e.Findings)-1]
			last.Fault, last.Scenario, last.Property = "process-pause", "", "resource-integrity"
		}, "pause"},
		"store restarts": {func(n *selection.Needs, _ []selection.Option, _ *selection.Evidence) {
			n.Survives = []selection.Trouble{selection.Restart}
		}, "store-restart"},
		"no figures": {func(n *selection.Needs, _ []selection.Option, _ *selection.Evidence) { n.Rate = 1 }, "rate"},
		"no lease as long": {func(n *selection.Needs, o []selection.Option, _ *selection.Evidence) {
			o[0].Lease, n.Hold.Max = selection.Fixed, time.Minute
		}, "work"},
	} {
		options, e := passingLock(1)
		n := simple()
		c.change(&n, options, &e)
		if got := fails(n, options, e); !slices.Contains(got, c.want) {
			t.Errorf("%s: it fails %v, want %s", name, got, c.want)
		}
	}
}

// TestOutcomes checks that the outcome of a decision follows from the ranks of the locks.
func TestOutcomes(t *testing.T) {
	lock := func(name string) selection.Option { return selection.Option{Name: name, Kind: selection.ALock} }
	for _, c := range []struct {
		left   []selection.Option
		scores []selection.Score
		want   selection.Outcome
		names  []string
	}{
		{nil, nil, selection.NothingFits, []string{}},
		{[]selection.Option{lock("a"), lock("b")}, []selection.Score{{Option: "a", Rank: 1}, {Option: "b", Rank: 2}}, selection.OneLock, []string{"a"}},
		{[]selection.Option{lock("a"), lock("b")}, []selection.Score{{Option: "a", Rank: 1}, {Option: "b", Rank: 1}}, selection.ATie, []string{"a", "b"}},
		{[]selection.Option{{Name: "row", Kind: selection.NoLock}, lock("a")}, []selection.Score{{Option: "a", Rank: 1}}, selection.NoLockNeeded, []string{"row"}},
	} {
		to := selection.Decision{Recommended: []string{}, Scores: c.scores}
		recommend(&to, c.left)
		if to.Outcome != c.want || !slices.Equal(to.Recommended, c.names) {
			t.Errorf("%v: %s %v, want %s %v", c.left, to.Outcome, to.Recommended, c.want, c.names)
		}
	}
}

// TestLimit checks that the report shows the limits that the requirements set. It tests the criteria goodput (more is better)
// and commands (less is better).
func TestLimit(t *testing.T) {
	options, e := passingLock(1)
	for _, f := range []selection.Figure{{ID: "M2", Metric: "goodput"}, {ID: "M3", Metric: "commands"}} {
		f.Lock, f.Point, f.Estimate = "x", bench.Point{Clients: 2, Keys: 1, Fault: "none"}, stats.EstimateOf([]float64{9}, []int{0})
		e.Figures = append(e.Figures, f)
	}
	n := simple()
	n.Rate, n.Commands = 50, 5
	limits := map[string]float64{}
	for _, c := range Decide(n, options, e).Cells {
		if c.Limit != nil && c.Of != "crash" {
			limits[c.Of] = *c.Limit
		}
	}
	if len(limits) != 2 || limits["rate"] != 50 || limits["cost"] != 5 {
		t.Errorf("%v", limits)
	}
}
