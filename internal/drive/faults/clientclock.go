package faults

import (
	"lockbench/impls"
	"lockbench/workloads"
)

// clientClockForward sets the clock of a waiter's machine forward while another client holds the lock. A waiter that compares its
// clock with a time in the store then takes the lock over too early.
var clientClockForward = Fault{
	Name: "client-clock-forward", Kind: Clients, Only: FixedClock, Workers: true,
	Doc: "the clock of a waiter is set forward by two leases while another client holds",
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: whenGranted(), Do: Action{Verb: ClientJump, Process: 1, By: 2 * s.TTL}})
	},
}

// clientClockBack sets the clock of a client's machine back while its acquire is in flight. A client that computes the end of its
// lease with this clock then relies on the lease for too long. It works for longer than the lease, so that another client is granted
// the lock meanwhile. In its later holds, an expiry time that it sends is too early.
var clientClockBack = Fault{
	Name: "client-clock-back", Kind: Clients, Only: FixedClock, Workers: true,
	Doc: "the clock of a client is set back by two leases while its acquire is in flight, and it works for longer than its lease",
	Plan: func(s Scene) Plan {
		asked := workloads.Moment{Client: victim, Point: workloads.Asking}
		return aroundFirstHold(s, Step{When: Trigger{At: asked, On: &Passing{Process: victimProcess, Nth: 1, Reply: true}},
			Do: Action{Verb: ClientJump, Process: victimProcess, By: -2 * s.TTL}},
			Step{When: whenGranted(), Do: Action{Verb: Stall, Client: victim, By: longerThanLease(s)}})
	},
}

// FixedClock returns the reason why the wall clocks of a lock's processes cannot be moved, or "" if they can.
func FixedClock(l impls.Impl) string {
	if l.Program == nil {
		return "its processes are statically linked, so that their clock cannot be moved"
	}
	return l.Program.FixedClock
}
