package faults

// holderAbandon: an early return or an exception, while the process lives on and goes on renewing the lease.
var holderAbandon = Fault{
	Name: "holder-abandon", Kind: Clients,
	Doc:   "a client goes away without releasing its lock; its process lives on",
	Shape: untilFreed,
	Plan: func(s Scene) Plan {
		return once(s, Step{When: upon(), Do: Action{Verb: Abandon, Client: victim}})
	},
}
