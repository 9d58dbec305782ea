package faults

import "lockbench/impls"

// eviction models a Redis server that has reached its memory limit (maxmemory) and evicts the least recently used keys.
var eviction = Fault{
	Name: "eviction", Kind: Servers,
	Doc:  "the server runs short of memory while a client holds, and drops the lock's key",
	Only: func(l impls.Impl) string { return reasonUnless(!l.Tracks, "its library chooses the key names") },
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: whenGranted(), Do: Action{Verb: Evict, Nodes: []int{0}}})
	},
}
