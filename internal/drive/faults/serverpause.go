package faults

// serverPause: a slow disk, a long script or a busy host.
var serverPause = Fault{
	Name: "server-pause", Kind: Servers,
	Doc: "the server is paused for half a lease while a client holds",
	Plan: func(s Scene) Plan {
		return once(s, Step{When: upon(), Do: Action{Verb: Freeze, Nodes: []int{0}}, For: s.TTL / 2})
	},
}
