package faults

// minorityDown models the fault that locks on several servers are designed for.
var minorityDown = Fault{
	Name: "minority-down", Kind: Servers,
	Doc:  "two of five servers are dead",
	Only: severalServers,
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Down, Nodes: []int{1, 4}}}}}
	},
}
