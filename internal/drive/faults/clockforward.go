package faults

// clockForward sets the clock of one server forward, so that all leases on this server expire at once. An operator or a time
// service may do this by mistake. If a lock uses five servers, the holder has acquired it on only three of them. When one of
// these leases expires, another client can acquire a majority.
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

// onBareMajority returns a plan in which the victim acquires the lock on only three of five servers. Until the grant,
// the victim cannot reach the other two servers. After the grant, the step then affects one of the three servers.
func onBareMajority(s Scene, then Step) Plan {
	return aroundFirstHold(s,
		Step{Do: Action{Verb: Cut, Process: victimProcess, Nodes: []int{3, 4}}, Until: granted(victim, 0)},
		then)
}
