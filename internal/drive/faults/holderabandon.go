package faults

// holderAbandon is a client that goes away without releasing, by an early return or an exception, while its
// process lives on: and with it whatever renews the lease.
var holderAbandon = Fault{
	Name: "holder-abandon", Kind: Clients,
	Doc:   "a client goes away without releasing what it holds; its process lives on",
	Shape: untilFreed,
	Plan: func(s Scene) Plan {
		return once(s, Step{When: upon(), Do: Action{Verb: Abandon, Client: victim}})
	},
}
