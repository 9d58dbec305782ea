package faults

// serverRestart kills and restarts the server. Unless the deployment is durable, the server loses its data. A few holds
// come before the restart, so that the loss of a fencing counter is detected.
var serverRestart = Fault{
	Name: "server-restart", Kind: Servers,
	Doc: "the server is killed while a client holds, and starts again with what it has on disk",
	Plan: func(s Scene) Plan {
		return aroundLaterHold(s, Step{When: Trigger{At: granted(victim, warmUp)}, Do: Action{Verb: Restart, Nodes: []int{0}}})
	},
}
