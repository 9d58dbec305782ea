package faults

import "lockbench/impls"

// cancelledAcquire cancels an acquire while the reply is on its way. The client then cannot know whether it acquired the lock.
var cancelledAcquire = Fault{
	Name: "cancelled-acquire", Kind: Clients,
	Doc: "a client cancels its acquire while the reply is on its way",
	Only: func(l impls.Impl) string {
		return reasonUnless(l.Program == nil || !l.Program.CannotCancel, "its worker does not state the capability cancel")
	},
	Plan: func(s Scene) Plan {
		return Plan{Gates: gatesAfterAcquire(s), Steps: []Step{{When: whenAnswered(), For: s.TTL / 2,
			Do: Action{Verb: GiveUp, Client: victim, Process: victimProcess, Wait: s.TTL / 10, By: s.TTL / 2}}}}
	},
}

// gatesAfterAcquire returns gates that delay the first acquire of a client. They make three clients start one after
// another. The first client is the victim of the fault. The second client starts when the victim is granted the lock, or
// after a quarter of the TTL. This limit is needed because the victim's cancelled acquire may not be granted. The third
// client starts when the second is granted the lock, or after two TTLs.
func gatesAfterAcquire(s Scene) []Gate {
	return []Gate{
		{Client: 1, Until: granted(victim, 0), Timeout: s.TTL / 4},
		{Client: 2, Until: granted(1, 0), Timeout: s.TTL * 2},
	}
}
