package faults

import "lockbench/impls"

// halfOpen: a cable, a firewall or a host without power: to the server the connection looks as it did.
var halfOpen = Fault{
	Name: "half-open", Kind: Network, Only: needsSession, Shape: untilFreed,
	Doc: "the process of a holder is killed with its network cut, so that the server sees no end of its connection",
	Plan: func(s Scene) Plan {
		return once(s,
			Step{When: upon(), Do: Action{Verb: Cut, Process: victimProcess}},
			Step{When: Trigger{At: granted(victim, 0), Later: s.TTL / 20}, Do: Action{Verb: Kill, Process: victimProcess}})
	},
}

func needsSession(l impls.Impl) string {
	return unless(l.Session, "no session of its holder's is what it is held by")
}
