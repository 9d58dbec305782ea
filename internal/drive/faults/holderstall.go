package faults

import "lockbench/workloads"

// holderStall: a slow query or a slow disk. The next client but one is in the process of the victim, and shares its lock
// object.
var holderStall = Fault{
	Name: "holder-stall", Kind: Clients,
	Doc: "a client works for one and a half times its lease, in a healthy process",
	Shape: func(p *workloads.Params, _ Scene) {
		p.Processes = 2 // clients 0 and 2 in one, 1 in the other
	},
	Plan: func(s Scene) Plan {
		return Plan{
			Gates: []Gate{
				{Client: 2, Until: granted(victim, 0), Patience: 2 * s.TTL},
				{Client: 1, Until: granted(2, 0), Patience: 3 * s.TTL},
			},
			Steps: []Step{{When: upon(), Do: Action{Verb: Stall, Client: victim, By: beyond(s)}, For: beyond(s)}},
		}
	},
}
