package faults

import "lockbench/impls"

// eviction: the server may forget what was not used lately.
var eviction = Fault{
	Name: "eviction", Kind: Servers,
	Doc:  "the server runs short of memory while a client holds, and drops the lock's key",
	Only: func(l impls.Impl) string { return unless(!l.Tracks, "its library chooses the names of its keys") },
	Plan: func(s Scene) Plan {
		return once(s, Step{When: upon(), Do: Action{Verb: Evict, Nodes: []int{0}}})
	},
}
