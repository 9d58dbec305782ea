package faults

// clockForward models an operator or a time service that sets a server's clock forward. All leases on this server expire at
// once. With five servers, the victim holds a bare majority, so one server is enough to break it.
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

// onBareMajority returns a plan in which the victim acquires only three of five servers. It is cut off from the other two
// until it is granted the lock. The given step affects one of the three.
func onBareMajority(s Scene, then Step) Plan {
	return aroundFirstHold(s,
		Step{Do: Action{Verb: Cut, Process: victimProcess, Nodes: []int{3, 4}}, Until: granted(victim, 0)},
		then)
}
