package decision

import (
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/stats"
)

// simple are needs of a lock that is renewed, on which two at once do harm.
func simple() Needs {
	return Needs{TwoHold: Corruption, Fence: NoCheck, Hold: Times{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}, Clients: 2,
		Pauses: Pauses{60, time.Millisecond, 10 * time.Millisecond, 300 * time.Millisecond, ""}, Recovery: 10 * time.Second, Stores: []string{"redis"}}
}

// kept is evidence of a lock that does all that simple needs, and recovers within so many leases.
func kept(recovery float64) ([]Option, Evidence) {
	o := Option{Name: "x", Kind: ALock, Store: "redis", Deployment: "single", Lease: Renewed, Languages: map[string]string{"any": "x"}}
	var e Evidence
	add := func(property, workload, fault, scenario string) {
		e.Findings = append(e.Findings, Finding{ID: "P" + property + fault + scenario, Lock: "x", Deployment: "single", Workload: workload, Fault: fault, Scenario: scenario,
			Property: property, Observed: checker.Held, Trials: 1, Operations: 10, TTLNS: int64(time.Second), Histories: []History{}})
	}
	for _, fault := range []string{"none", "slow-network", "lost-reply", "partition", "delayed-release", "cancelled-acquire"} {
		add("mutual-exclusion", "counter", fault, "")
	}
	add("owner-release", "misuse", "none", "")
	add("recovery", "counter", "holder-kill", "")
	add("mutual-exclusion", "counter", LongestPause, PauseScenario(300*time.Millisecond))
	e.Figures = []Figure{{ID: "M1", Lock: "x", Deployment: "single", Metric: RecoveryMetric, Point: bench.Point{TTLNS: int64(time.Second)},
		Estimate: stats.EstimateOf([]float64{recovery}, []int{0}), Histories: []History{}}}
	return []Option{o}, e
}

// fails are the requirements that the lock of kept does not meet, or is not known to.
func fails(n Needs, options []Option, e Evidence) []string {
	d := Decide(n, options, e).Decision
	if len(d.Out) == 0 {
		return nil
	}
	return append(slices.Clone(d.Out[0].Fails), d.Out[0].Unsure...)
}

// TestOneThingMissing: a lock that does all that is needed is recommended, and one thing that it does not do, or that nobody knows
// of it, puts it out.
func TestOneThingMissing(t *testing.T) {
	options, e := kept(1)
	if got := Decide(simple(), options, e).Decision; got.Outcome != OneLock || !slices.Equal(got.Recommended, []string{"x"}) {
		t.Fatalf("%s %v: %+v", got.Outcome, got.Recommended, got.Out)
	}
	for name, c := range map[string]struct {
		change func(*Needs, []Option, *Evidence)
		want   string
	}{
		"undecided":      {func(_ *Needs, _ []Option, e *Evidence) { e.Findings[2].Observed = checker.Undecided }, "network"},
		"violated":       {func(_ *Needs, _ []Option, e *Evidence) { e.Findings[3].Observed = checker.Violated }, "network"},
		"not looked at":  {func(_ *Needs, _ []Option, e *Evidence) { e.Findings = e.Findings[1:] }, "exclusion"},
		"does not apply": {func(_ *Needs, _ []Option, e *Evidence) { e.Findings[6].Observed = checker.NotApplicable }, "release"},
		"another pause":  {func(n *Needs, _ []Option, _ *Evidence) { n.Pauses.Longest = 3 * time.Second }, "pause"},
		"slow to recover": {func(_ *Needs, _ []Option, e *Evidence) {
			e.Figures[0].Estimate = stats.EstimateOf([]float64{11}, []int{0})
		}, "crash"},
		"recovery not measured": {func(_ *Needs, _ []Option, e *Evidence) { e.Figures = nil }, "crash"},
		"another store":         {func(n *Needs, _ []Option, _ *Evidence) { n.Stores = []string{"mysql"} }, "available"},
		"another language": {func(n *Needs, o []Option, _ *Evidence) {
			n.Language, o[0].Languages = []string{"java"}, map[string]string{"go": "x"}
		}, "language"},
		"re-entry": {func(n *Needs, _ []Option, _ *Evidence) { n.Reenters = true }, "reentrancy"},
		"tokens that it does not have": {func(n *Needs, _ []Option, e *Evidence) {
			n.Fence = OnAll
			last := &e.Findings[len(e.Findings)-1]
			last.Fault, last.Scenario, last.Property = "process-pause", "", "resource-integrity"
		}, "pause"},
		"store restarts":  {func(n *Needs, _ []Option, _ *Evidence) { n.Survives = []Trouble{Restart} }, "store-restart"},
		"no figures":      {func(n *Needs, _ []Option, _ *Evidence) { n.Rate = 1 }, "rate"},
		"nowhere as long": {func(n *Needs, o []Option, _ *Evidence) { o[0].Lease, n.Hold.Max = Fixed, time.Minute }, "work"},
	} {
		options, e := kept(1)
		n := simple()
		c.change(&n, options, &e)
		if got := fails(n, options, e); !slices.Contains(got, c.want) {
			t.Errorf("%s: it fails %v, want %s", name, got, c.want)
		}
	}
}

// TestOutcomes: what several ranks come to.
func TestOutcomes(t *testing.T) {
	lock := func(name string) Option { return Option{Name: name, Kind: ALock} }
	for _, c := range []struct {
		left   []Option
		scores []Score
		want   Outcome
		names  []string
	}{
		{nil, nil, NothingFits, []string{}},
		{[]Option{lock("a"), lock("b")}, []Score{{Option: "a", Rank: 1}, {Option: "b", Rank: 2}}, OneLock, []string{"a"}},
		{[]Option{lock("a"), lock("b")}, []Score{{Option: "a", Rank: 1}, {Option: "b", Rank: 1}}, ATie, []string{"a", "b"}},
		{[]Option{{Name: "row", Kind: NoLock}, lock("a")}, []Score{{Option: "a", Rank: 1}}, NoLockNeeded, []string{"row"}},
	} {
		to := Decision{Recommended: []string{}, Scores: c.scores}
		(&deciding{}).recommend(&to, c.left)
		if to.Outcome != c.want || !slices.Equal(to.Recommended, c.names) {
			t.Errorf("%v: %s %v, want %s %v", c.left, to.Outcome, to.Recommended, c.want, c.names)
		}
	}
}
