package faults

import "lockbench/impls"

// leaderLoss: a majority knows what the leader had acknowledged.
var leaderLoss = Fault{
	Name: "leader-loss", Kind: Servers,
	Doc: "the leader of three servers dies while a client holds, and another takes over",
	On:  func(string) string { return "three" },
	Only: func(l impls.Impl) string {
		return unless(l.Store == "zookeeper" || l.Store == "etcd", "it has no ensemble that chooses a leader")
	},
	Plan: func(s Scene) Plan {
		return warmedUp(s, Step{When: Trigger{At: granted(victim, warmUp)}, Do: Action{Verb: Depose, Nodes: []int{0, 1, 2}}})
	},
}
