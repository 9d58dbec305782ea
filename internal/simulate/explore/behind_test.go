package explore

import (
	"slices"
	"testing"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
)

// TestFailoverExpectations checks when a lock that waits for one replica is expected to exclude under a failover: if the only
// replica takes over, or if neither of two has received anything since before the grant.
func TestFailoverExpectations(t *testing.T) {
	for _, c := range []struct {
		lock, deployment string
		unlinked         []int
		want             histories.Expected
	}{
		{"set-px-wait", servers.Replica, []int{1}, histories.ToHold},
		{"set-px-wait", servers.TwoReplicas, []int{1, 2}, histories.ToHold},
		{"set-px-wait", servers.TwoReplicas, []int{1}, histories.Unspecified},
		{"set-px-lua", servers.Replica, []int{1}, histories.Unspecified},
		{"set-px-lua", servers.TwoReplicas, []int{1, 2}, histories.Unspecified},
	} {
		x := usualCase(c.lock, 1)
		x.Servers, x.Deployment = servers.Local, c.deployment
		x.Plan = faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: faults.Unlink, Nodes: c.unlinked}}, {Do: faults.Action{Verb: faults.Failover, Nodes: []int{1}}}}}
		trial, err := x.Trial()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(trial.Expectations, func(e histories.Expectation) bool { return e.Property == "lease-exclusion" })
		if i < 0 || trial.Expectations[i].Expected != c.want {
			t.Errorf("%+v: %+v", c, trial.Expectations)
		}
	}
}

// TestBehind checks that cases for real servers contain a failover to a replica that lacks the grant, with one replica and
// with two, and a waiter that is cut off at the release.
func TestBehind(t *testing.T) {
	seen := map[string]bool{}
	for seed := uint64(3); seed < 400; seed += 4 {
		c, _, err := Subject{Lock: "set-px-wait", Servers: servers.Local}.Choose(seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Plan.Steps) == 2 && c.Plan.Steps[0].Do.Verb == faults.Unlink && c.Plan.Steps[0].When.At.Iteration == 0 {
			if len(c.Plan.Steps[0].Do.Nodes) != map[string]int{servers.Replica: 1, servers.TwoReplicas: 2}[c.Deployment] {
				t.Errorf("seed %d on %s: %+v", seed, c.Deployment, c.Plan.Steps)
			}
			seen[c.Deployment] = true
		}
		if len(c.Plan.Steps) == 1 && c.Plan.Steps[0].Do.Verb == faults.Cut && c.Plan.Steps[0].Do.Process == 1 && c.Plan.Steps[0].When.At.Client == 0 {
			seen["cut waiter"] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("seen: %v", seen)
	}
}
