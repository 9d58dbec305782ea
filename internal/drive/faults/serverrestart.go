package faults

// serverRestart: unless the server is deployed to keep everything, its memory is empty. A few holds go before, so that a lost
// counter shows.
var serverRestart = Fault{
	Name: "server-restart", Kind: Servers,
	Doc: "the server is killed while a client holds, and starts again with what it has on disk",
	Plan: func(s Scene) Plan {
		return warmedUp(s, Step{When: Trigger{At: granted(victim, warmUp)}, Do: Action{Verb: Restart, Nodes: []int{0}}})
	},
}
