package faults

// clockForward: an operator or a time service sets the clock forward: every lease there expires at once. Of five servers
// it takes one, if two others have not heard of the hold.
var clockForward = Fault{
	Name: "clock-forward", Kind: Servers,
	Doc: "the clock of the server (or of one of five) is set forward by two leases while a client holds",
	Plan: func(s Scene) Plan {
		jump := Step{When: upon(), Do: Action{Verb: Jump, Nodes: []int{0}, By: 2 * s.TTL}}
		if s.Servers() == 1 {
			return once(s, jump)
		}
		return barely(s, jump)
	},
}

// barely has the victim acquire no more than a majority of five servers, because it is cut off from the others
// for as long as it asks, and then something happen to one of those.
func barely(s Scene, then Step) Plan {
	return once(s,
		Step{Do: Action{Verb: Cut, Process: victimProcess, Nodes: []int{3, 4}}, Until: granted(victim, 0)},
		then)
}
