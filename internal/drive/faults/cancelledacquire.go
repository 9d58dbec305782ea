package faults

// cancelledAcquire: a caller gives up, say because a request timed out: whether the lock was taken is unknown.
var cancelledAcquire = Fault{
	Name: "cancelled-acquire", Kind: Clients,
	Doc: "a client cancels its acquire while the reply is on its way",
	Plan: func(s Scene) Plan {
		return Plan{Gates: afterFirst(s), Steps: []Step{{When: uponAnswer(), For: s.TTL / 2,
			Do: Action{Verb: GiveUp, Client: victim, Process: victimProcess, Wait: s.TTL / 10, By: s.TTL / 2}}}}
	},
}

// afterFirst has the others wait a moment for what becomes of the victim's first acquire, which need not be granted.
func afterFirst(s Scene) []Gate {
	return []Gate{
		{Client: 1, Until: granted(victim, 0), Patience: s.TTL / 4},
		{Client: 2, Until: granted(1, 0), Patience: s.TTL * 2},
	}
}
