package faults

import "lockbench/workloads"

// holderStall models a slow query or disk during the work. Client 0 works for longer than its lease. Client 2 uses the
// same process and lock object as client 0.
var holderStall = Fault{
	Name: "holder-stall", Kind: Clients,
	Doc: "a client works for one and a half times its lease, in a healthy process",
	Shape: func(p *workloads.Params, _ Scene) {
		p.Processes = 2 // clients 0 and 2 share a process
	},
	Plan: func(s Scene) Plan {
		return Plan{
			Gates: []Gate{
				{Client: 2, Until: granted(victim, 0), Timeout: 2 * s.TTL},
				{Client: 1, Until: granted(2, 0), Timeout: 3 * s.TTL},
			},
			Steps: []Step{{When: whenGranted(), Do: Action{Verb: Stall, Client: victim, By: longerThanLease(s)}}},
		}
	},
}
