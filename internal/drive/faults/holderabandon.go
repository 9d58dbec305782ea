package faults

// holderAbandon models an early return or an exception without a release. The process continues to renew the lease.
var holderAbandon = Fault{
	Name: "holder-abandon", Kind: Clients,
	Doc:   "a client goes away without releasing its lock; its process lives on",
	Shape: untilFreed,
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: whenGranted(), Do: Action{Verb: Abandon, Client: victim}})
	},
}
