package faults

// minorityDown kills a minority of the servers. Locks on several servers are designed to survive this.
var minorityDown = Fault{
	Name: "minority-down", Kind: Servers,
	Doc:  "two of five servers are dead",
	Only: severalServers,
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Down, Nodes: []int{1, 4}}}}}
	},
}
