package faults

// minorityDown is what several servers are for: two of five are dead from the beginning.
var minorityDown = Fault{
	Name: "minority-down", Kind: Servers,
	Doc:  "two of five servers are dead",
	Only: severalServers,
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Down, Nodes: []int{1, 4}}}}}
	},
}
