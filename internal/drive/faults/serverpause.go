package faults

// serverPause models a slow disk, a long script or a busy host.
var serverPause = Fault{
	Name: "server-pause", Kind: Servers,
	Doc: "the server is paused for half a lease while a client holds",
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: whenGranted(), Do: Action{Verb: Freeze, Nodes: []int{0}}, For: s.TTL / 2})
	},
}
