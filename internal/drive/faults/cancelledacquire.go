package faults

// cancelledAcquire is a caller that gives up while the server is taking the lock for it: a request timed out,
// its user has gone. Whether the lock was taken nobody knows.
var cancelledAcquire = Fault{
	Name: "cancelled-acquire", Kind: Clients,
	Doc: "whoever wanted the lock gives up while the answer is on its way",
	Plan: func(s Scene) Plan {
		return Plan{Gates: afterFirst(s), Steps: []Step{{When: uponAnswer(), For: s.TTL / 2,
			Do: Action{Verb: GiveUp, Client: victim, Process: victimProcess, Wait: s.TTL / 10, By: s.TTL / 2}}}}
	},
}

// acquiring are the commands that take a lock.
func acquiring() []string { return []string{"SET", "SETNX", "EVAL", "EVALSHA"} }

// afterFirst has the others wait a moment for what becomes of the victim's first acquire, which need not be granted.
func afterFirst(s Scene) []Gate {
	return []Gate{
		{Client: 1, Until: granted(victim, 0), Patience: s.TTL / 4},
		{Client: 2, Until: granted(1, 0), Patience: s.TTL * 2},
	}
}
