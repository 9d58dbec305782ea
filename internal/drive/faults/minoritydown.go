package faults

// minorityDown: the fault that several servers are made for.
var minorityDown = Fault{
	Name: "minority-down", Kind: Servers,
	Doc:  "two of five servers are dead",
	Only: severalServers,
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Down, Nodes: []int{1, 4}}}}}
	},
}
