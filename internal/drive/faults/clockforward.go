package faults

// clockForward models an operator or a time service that sets the clock forward: all leases on that server expire at once.
// With five servers the victim holds a bare majority, so that one server suffices.
var clockForward = Fault{
	Name: "clock-forward", Kind: Servers,
	Doc: "the clock of the server (or of one of five) is set forward by two leases while a client holds",
	Plan: func(s Scene) Plan {
		jump := Step{When: whenGranted(), Do: Action{Verb: Jump, Nodes: []int{0}, By: 2 * s.TTL}}
		if s.Servers() == 1 {
			return aroundFirstHold(s, jump)
		}
		return onBareMajority(s, jump)
	},
}

// onBareMajority returns a plan in which the victim acquires only three of five servers, because it is cut off from the other two
// until it is granted the lock. The step then affects one of the three.
func onBareMajority(s Scene, then Step) Plan {
	return aroundFirstHold(s,
		Step{Do: Action{Verb: Cut, Process: victimProcess, Nodes: []int{3, 4}}, Until: granted(victim, 0)},
		then)
}
