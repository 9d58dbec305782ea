package faults

import (
	"time"

	"lockbench/workloads"
)

// failover first stops the replication, so that the replica lacks the grant. Then the plan or three Sentinels promote the
// replica. With two replicas, the promoted one lacks the grant and the other has it.
var failover = Fault{
	Name: "failover", Kind: Servers, On: withReplica,
	Doc: "the primary dies while a client holds, and a replica that has not received the grant takes over",
	Shape: func(p *workloads.Params, s Scene) {
		switch s.Deployment {
		case "sentinel": // an election takes up to five seconds
			p.TTL, p.Hold, p.Duration = 8*time.Second, 6*time.Second, 8*time.Second
		case "two-replicas", "cluster": // a replica may need a second to follow the new primary, and a client to find it
			p.TTL, p.Hold, p.Duration = 2*time.Second, 1400*time.Millisecond, 3*time.Second
		}
	},
	Plan: func(s Scene) Plan {
		before := workloads.Moment{Client: victim, Iteration: warmUp, Point: workloads.Asking}
		return aroundLaterHold(s,
			Step{When: Trigger{At: before}, Do: Action{Verb: Unlink, Nodes: staleReplicas(s)}},
			Step{When: Trigger{At: granted(victim, warmUp)}, Do: Action{Verb: Failover, Nodes: []int{1}}})
	},
}

// withReplica adds a replica to the deployment. For a lock that uses WAIT it adds two, because the replica that acknowledged
// a write may not be the promoted one.
func withReplica(usual string) string {
	if usual == "replica" {
		return "two-replicas"
	}
	return "replica"
}

// staleReplicas returns the replicas that lack the last grant. With Sentinels these are all replicas, because any may be
// promoted.
func staleReplicas(s Scene) []int {
	if s.Deployment == "sentinel" {
		return []int{1, 2}
	}
	return []int{1}
}
