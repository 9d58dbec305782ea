package faults

// serverRestart is a server that crashes and comes back, with no more than it has on disk: nothing, unless it
// is deployed to keep everything. A few holds go before, so that a lost counter shows.
var serverRestart = Fault{
	Name: "server-restart", Kind: Servers,
	Doc: "the server is killed while a client holds, and starts again with what it has on disk",
	Plan: func(s Scene) Plan {
		return warmedUp(s, Step{When: Trigger{At: granted(victim, warmUp)}, Do: Action{Verb: Restart, Nodes: []int{0}}})
	},
}
