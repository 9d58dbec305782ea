package faults

import "lockbench/impls"

// leaderLoss kills the leader of an ensemble. No acknowledged write is lost, because a majority of the servers has it.
var leaderLoss = Fault{
	Name: "leader-loss", Kind: Servers,
	Doc: "the leader of three servers dies while a client holds, and another takes over",
	On:  func(string) string { return "three" },
	Only: func(l impls.Impl) string {
		return reasonUnless(l.Store == "zookeeper" || l.Store == "etcd", "it has no ensemble that chooses a leader")
	},
	Plan: func(s Scene) Plan {
		return aroundLaterHold(s, Step{When: Trigger{At: granted(victim, warmUp)}, Do: Action{Verb: Depose, Nodes: []int{0, 1, 2}}})
	},
}
