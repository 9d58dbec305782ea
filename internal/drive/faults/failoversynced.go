package faults

import (
	"time"

	"lockbench/workloads"
)

// failoverSynced is failover to a replica that has all that was acknowledged: what is left of its harm when
// replication is not behind.
func failoverSynced() Fault {
	f := failover()
	f.Name = "failover-synced"
	f.On = func(string) string { return "two-replicas" }
	f.Doc = "the primary dies while a client holds, and a replica that has heard of everything takes over"
	f.Shape = func(p *workloads.Params, s Scene) {
		if s.Deployment == "cluster" { // a client may take a while to find the new primary
			p.TTL, p.Hold, p.Duration = 2*time.Second, 1400*time.Millisecond, 3*time.Second
		}
	}
	f.Plan = func(s Scene) Plan {
		return warmedUp(s, Step{When: Trigger{At: granted(victim, warmUp), Later: s.TTL / 8}, Do: Action{Verb: Failover, Nodes: []int{1}}})
	}
	return f
}
