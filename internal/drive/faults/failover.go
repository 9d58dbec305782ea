package faults

import (
	"time"

	"lockbench/workloads"
)

// failover promotes a replica that lacks the current grant. First the plan stops the replication to this replica. Then the
// plan, or three Sentinels, promote the replica. In a deployment with two replicas, the other replica has the grant.
var failover = Fault{
	Name: "failover", Kind: Servers, On: withReplica,
	Doc: "the primary dies while a client holds, and a replica that has not received the grant takes over",
	Shape: func(p *workloads.Params, s Scene) {
		switch s.Deployment {
		// With Sentinels the hold is long, because an election takes up to five seconds.
		case "sentinel":
			p.TTL, p.Hold, p.Duration = 8*time.Second, 6*time.Second, 8*time.Second
		// After a failover, a replica or a client may need a second to find the new primary.
		case "two-replicas", "cluster":
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

// withReplica returns the deployment for a fault that promotes a replica. The parameter usual is the usual deployment of
// the lock. If it has no replica, one is added. If it has one replica, a second is added. In this case the lock waits
// until a replica acknowledges each write (command WAIT). With two replicas, the promoted replica may lack a write that
// only the other replica acknowledged. Other deployments stay as they are.
func withReplica(usual string) string {
	switch usual {
	case "replica":
		return "two-replicas"
	case "two-replicas", "sentinel", "cluster":
		return usual
	}
	return "replica"
}

// staleReplicas returns the indexes of the replicas that lack the last grant. With Sentinels all replicas must lack the grant,
// because Sentinels may promote any replica.
func staleReplicas(s Scene) []int {
	if s.Deployment == "sentinel" {
		return []int{1, 2}
	}
	return []int{1}
}
