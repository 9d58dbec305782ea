package explore

import (
	"slices"
	"testing"

	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestCasesFitRealServers checks the cases that are chosen for real servers, for the locks of every store. Each case
// must be able to run on them. Each action that needs real servers must be chosen for some lock.
func TestCasesFitRealServers(t *testing.T) {
	left := []faults.Verb{faults.Full, faults.Unseat, faults.Exit, faults.Depose, faults.Reset, faults.Empty, faults.ReadOnly, faults.ForgetScripts, faults.Interrupt}
	for _, lock := range catalog.All() {
		if lock.Store == "" {
			continue
		}
		s := Subject{Lock: lock.Name, Servers: servers.Local}
		for seed := range uint64(150) {
			c, strategy, err := s.Choose(seed)
			if err != nil {
				t.Fatal(err)
			}
			load, err := named("workload", workloads.All(), c.Workload, func(w workloads.Workload) string { return w.Name })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := trial.Planned(Fault, lock, c.Deployment, load, c.Params, c.Plan); err != nil {
				t.Errorf("%s, seed %d, %s: %v", lock.Name, seed, strategy, err)
			}
			for _, step := range c.Plan.Steps {
				left = slices.DeleteFunc(left, func(v faults.Verb) bool { return v == step.Do.Verb })
				if lock.Store != "redis" && faults.RedisOnly(step.Do.Verb) {
					t.Errorf("%s, seed %d: %s is supported for Redis only", lock.Name, seed, step.Do.Verb)
				}
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("never chosen: %v", left)
	}
}
