package faults

import (
	"time"

	"lockbench/workloads"
)

// failover: the replication link is stalled first, so that the outcome does not depend on chance. The plan promotes the
// replica, or three Sentinels do if the deployment has them. Of two replicas one has heard of the grant, and the other is
// promoted.
var failover = Fault{
	Name: "failover", Kind: Servers, On: withReplica,
	Doc: "the primary dies while a client holds, and a replica that has not received the grant takes over",
	Shape: func(p *workloads.Params, s Scene) {
		switch s.Deployment {
		case "sentinel": // they take a second or five
			p.TTL, p.Hold, p.Duration = 8*time.Second, 6*time.Second, 8*time.Second
		case "two-replicas", "cluster": // the second takes up to a second to follow the first, a client to find the new primary
			p.TTL, p.Hold, p.Duration = 2*time.Second, 1400*time.Millisecond, 3*time.Second
		}
	},
	Plan: func(s Scene) Plan {
		before := workloads.Moment{Client: victim, Iteration: warmUp, Point: workloads.Asking}
		return warmedUp(s,
			Step{When: Trigger{At: before}, Do: Action{Verb: Unlink, Nodes: lagging(s)}},
			Step{When: Trigger{At: granted(victim, warmUp)}, Do: Action{Verb: Failover, Nodes: []int{1}}})
	},
}

// withReplica adds a replica; if a lock waits for one (WAIT), a second, which may be another than the acknowledging one.
func withReplica(usual string) string {
	if usual == "replica" {
		return "two-replicas"
	}
	return "replica"
}

// lagging are the replicas that do not hear of the last grant. Whom Sentinels choose is not for us to say.
func lagging(s Scene) []int {
	if s.Deployment == "sentinel" {
		return []int{1, 2}
	}
	return []int{1}
}
