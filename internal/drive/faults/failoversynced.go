package faults

import (
	"time"

	"lockbench/workloads"
)

// failoverSynced promotes a replica that has every acknowledged write.
var failoverSynced = Fault{
	Name: "failover-synced", Kind: Servers, On: func(string) string { return "two-replicas" },
	Doc: "the primary dies while a client holds, and a replica that has received every write takes over",
	Shape: func(p *workloads.Params, s Scene) {
		// In a cluster a client may need time to find the new primary.
		if s.Deployment == "cluster" {
			p.TTL, p.Hold, p.Duration = 2*time.Second, 1400*time.Millisecond, 3*time.Second
		}
	},
	Plan: func(s Scene) Plan {
		return aroundLaterHold(s, Step{When: Trigger{At: granted(victim, warmUp), Later: s.TTL / 8}, Do: Action{Verb: Failover, Nodes: []int{1}}})
	},
}
