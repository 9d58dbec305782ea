package faults

import "lockbench/impls"

// halfOpen models a broken cable, a firewall or a host without power. The server does not notice that the connection has
// ended.
var halfOpen = Fault{
	Name: "half-open", Kind: Network, Only: needsSession, Shape: untilFreed,
	Doc: "the process of a holder is killed with its network cut, so that the server sees no end of its connection",
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s,
			Step{When: whenGranted(), Do: Action{Verb: Cut, Process: victimProcess}},
			Step{When: Trigger{At: granted(victim, 0), Later: s.TTL / 20}, Do: Action{Verb: Kill, Process: victimProcess}})
	},
}

func needsSession(l impls.Impl) string {
	return reasonUnless(l.Session, "it is not held by a session")
}
