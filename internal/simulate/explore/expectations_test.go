package explore

import (
	"testing"

	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
)

// TestWeakerThanScene checks plans under which a lock promises less than under the scene of the same fault.
func TestWeakerThanScene(t *testing.T) {
	for _, c := range []struct {
		lock, deployment, property string
		verb                       faults.Verb
		expected                   bool
	}{
		{"fenced", servers.Durable, "lease-exclusion", faults.Empty, false},
		{"fenced", servers.Durable, "lease-exclusion", faults.Kill, true},
		{"mysql-getlock", "single", "resource-integrity", faults.Unseat, false},
		{"mysql-getlock", "single", "resource-integrity", faults.Kill, true},
		{"etcd", "single", "resource-integrity", faults.Unseat, true},
	} {
		x := usualCase(c.lock, 1)
		x.Servers, x.Deployment = servers.Local, c.deployment
		x.Plan = faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: c.verb, Nodes: []int{0}}}}}
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
