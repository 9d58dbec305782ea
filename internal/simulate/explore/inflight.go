package explore

import (
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
	"lockbench/workloads"
)

// cancelsInQueue reports whether the stage cancelledInQueue is possible.
func (s *scene) cancelsInQueue() bool { return s.cancels() && (s.lock.Session || s.lock.Notifies) }

// cancelledInQueue returns a plan in which a waiter cancels its acquire, or its timeout ends, while the reply to one of its requests is
// in flight. Another client waits behind it, and must be granted the lock.
func cancelledInQueue(s *scene) faults.Plan {
	lease := s.sessionLease(3 * time.Second)
	p := s.inTurn(3)
	p.Gates[1].Until = workloads.Moment{Client: 1, Point: workloads.Asking}
	s.params.Hold = s.randomDuration(500*time.Millisecond, max(lease*2/3, 600*time.Millisecond))
	s.params.Duration, s.params.Grace = lease, 3*lease
	by := s.percent(ttl/2, 20, 100)
	on := &faults.Passing{Process: 1, Nth: 1 + s.rand.IntN(5), Reply: true}
	p.Steps = []faults.Step{{Name: "cancelled-acquire", When: faults.Trigger{At: workloads.Moment{Client: 1, Point: workloads.Asking}, On: on},
		Do:  faults.Action{Verb: faults.GiveUp, Context: s.chance(60), Client: 1, Process: 1, Wait: s.uniqueDuration(s.percent(by, 20, 90)), By: by},
		For: s.uniqueDuration(by)}}
	return p
}

// heldBack returns a plan in which a request of a waiter's acquire does not reach the server before the release of the holder has
// returned. What the waiter has read before is then outdated.
func heldBack(s *scene) faults.Plan {
	s.sessionLease(3 * time.Second)
	p := s.inTurn(2 + s.rand.IntN(2))
	p.Rest(0, 1)
	s.params.Hold = s.randomDuration(20*time.Millisecond, 150*time.Millisecond) // a longer delay would explain a missing answer
	s.params.Duration = s.params.TTL
	most := s.uniqueDuration(s.params.TTL / 2)
	p.Steps = []faults.Step{{Name: "slow-network",
		When: faults.Trigger{At: workloads.Moment{Client: 1, Point: workloads.Asking}, On: &faults.Passing{Process: 1, Nth: 1 + s.rand.IntN(6)}},
		Do:   faults.Action{Verb: faults.Delay, Client: 1, Process: 1, By: most}, For: most, Until: workloads.Moment{Iteration: 1, Point: workloads.Asking}}}
	return p
}

// endsSilently reports whether the server can end the session of a holder that does not notice it.
func (s *scene) endsSilently() bool {
	return s.lock.Session && s.allows("partition") && applies("session-kill", sim.Trial{Lock: s.lock})
}

// silentlyEnded returns a plan in which the holder is cut off and its session is ended on the server, as after the failure of a
// router. Another client is then granted the lock, and the holder must learn of the loss without an answer from the server.
func silentlyEnded(s *scene) faults.Plan {
	lease := s.params.TTL
	p := s.inTurn(2 + s.rand.IntN(2))
	s.params.Hold = s.randomDuration(lease/20, lease/3)
	work := s.percent(lease, 300, 400) // a holder may learn of its loss one and a third of a lease after the next grant
	s.params.Duration, s.params.Grace = work+lease, 6*lease
	cut := s.uniqueDuration(s.randomDuration(0, lease/4))
	p.Steps = []faults.Step{
		{Name: "session-kill", When: firstGrant(0), Do: faults.Action{Verb: faults.Stall, By: work}},
		{Name: "partition", When: firstGrant(cut), Do: faults.Action{Verb: faults.Cut, Nodes: s.nodes(5)}, For: s.uniqueDuration(work - cut)},
		{Name: "session-kill", When: firstGrant(s.uniqueDuration(cut + s.randomDuration(time.Millisecond, lease/4))), Do: faults.Action{Verb: faults.Unseat, Nodes: []int{0}}}}
	return p
}
