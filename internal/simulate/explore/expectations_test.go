package explore

import (
	"slices"
	"testing"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestWeakerThanScene checks plans under which a lock promises less than under the scene of the same fault.
func TestWeakerThanScene(t *testing.T) {
	for _, c := range []struct {
		lock, deployment, property string
		verb                       faults.Verb
		waiter, expected           bool
	}{
		{"fenced", servers.Durable, "lease-exclusion", faults.Empty, false, false},
		{"fenced", servers.Durable, "lease-exclusion", faults.Kill, false, true},
		{"mysql-getlock", "single", "resource-integrity", faults.Unseat, false, false},
		{"mysql-getlock", "single", "resource-integrity", faults.Kill, false, true},
		{"etcd", "single", "resource-integrity", faults.Unseat, false, true},
		{"etcd", "single", "lease-exclusion", faults.Unseat, true, true},
		{"etcd", "single", "recovery", faults.Unseat, true, false},
		{"etcd", "single", "lease-exclusion", faults.Reset, false, true},
		{"mysql-getlock", "single", "lease-exclusion", faults.Reset, false, false},
		{"mysql-getlock", "single", "lease-exclusion", faults.Lose, false, true},
		{"etcd", "single", "recovery", faults.Exit, false, true},
		{"mysql-getlock", "single", "resource-integrity", faults.Unseat, true, false},
		{"mysql-getlock", "single", "lease-exclusion", faults.Unseat, true, true},
	} {
		x := usualCase(c.lock, 1)
		x.Servers, x.Deployment = servers.Local, c.deployment
		x.Plan = faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: c.verb, Waiter: c.waiter, Nodes: []int{0}}}}}
		trial, err := x.Trial()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range trial.Expectations {
			found = found || e.Property == c.property
		}
		if found != c.expected {
			t.Errorf("%+v: the property has an expectation: %t", c, found)
		}
	}
}

// TestNestedLeases checks that nothing is expected of the nested leases of a known-broken lock if they have different lengths.
func TestNestedLeases(t *testing.T) {
	for _, c := range []struct {
		lock     string
		habits   []workloads.Habit
		expected bool
	}{
		{"redisson-legacy", []workloads.Habit{workloads.Nests}, true},
		{"redisson-legacy", []workloads.Habit{workloads.Nests, workloads.VariesLease}, false},
		{"redisson", []workloads.Habit{workloads.Nests, workloads.VariesLease}, true},
	} {
		x := habitual(c.lock, "single", 2, workloads.Nests)
		x.Params.Habits, x.Plan = c.habits, faults.Plan{}
		trial, err := x.Trial()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(trial.Expectations, func(e histories.Expectation) bool {
			return e.Property == "lease-exclusion" && e.Expected == histories.ToHold
		}); got != c.expected {
			t.Errorf("%s with %v: lease-exclusion is expected to hold: %t", c.lock, c.habits, got)
		}
	}
}
