package explore

import (
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// movesClocks reports whether the wall clocks of the lock's processes can be moved.
func (s *scene) movesClocks() bool { return s.real && faults.FixedClock(s.lock) == "" }

// waiterAhead returns a plan in which the clock of a waiter is set forward while another client holds the lock. The waiter must not
// take the lock over.
func waiterAhead(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	lease := s.params.TTL
	s.params.Hold = s.percent(lease, 40, 65)
	s.params.Duration = 3 * lease
	p.Steps = []faults.Step{{Name: "client-clock-forward", When: firstGrant(s.uniqueDuration(s.randomDuration(0, s.params.Hold/2))),
		Do: faults.Action{Verb: faults.ClientJump, Process: 1, By: s.uniqueDuration(s.percent(lease, 100, 300))}}}
	return p
}

// holderBehind returns a plan in which the clock of a client is set back while its acquire is in flight, or during its hold. It then
// works for longer than its lease, and must not rely on the lease for that long. A lock that renews must renew in time.
func holderBehind(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	p.Rest(0, 2) // an expiry time that the second request contains may be too early
	lease := s.params.TTL
	s.params.Hold = s.percent(lease, 40, 65)
	s.params.Duration = 3 * lease
	when := firstGrant(s.uniqueDuration(s.randomDuration(time.Millisecond, lease/3)))
	if s.chance(60) {
		when = faults.Trigger{At: workloads.Moment{Point: workloads.Asking}, On: &faults.Passing{Nth: 1 + s.rand.IntN(5)/4, Reply: true}}
	}
	work := s.percent(lease, 120, 200)
	s.params.Duration += work
	p.Steps = []faults.Step{
		{Name: "client-clock-back", When: when, Do: faults.Action{Verb: faults.ClientJump, By: -s.uniqueDuration(s.percent(lease, 100, 300))}},
		{Name: "client-clock-back", When: firstGrant(0), Do: faults.Action{Verb: faults.Stall, By: work}}}
	return p
}

// fastWaiter returns a plan in which the clock of a waiter runs at several times its speed while another client holds the lock. The
// waiter must not take the lock over.
func fastWaiter(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	lease := s.params.TTL
	s.params.Hold = s.percent(lease, 60, 80)
	s.params.Duration = 3 * lease
	p.Steps = []faults.Step{{Name: "client-clock-drift", When: firstGrant(0),
		Do: faults.Action{Verb: faults.ClientDrift, Process: 1, By: s.randomDuration(time.Second, 4*time.Second)}, For: s.uniqueDuration(2 * lease)}}
	return p
}

// slowHolder returns a plan in which the clock of a client runs slowly from its acquire on. It works for longer than its lease, and
// must not rely on the lease for that long.
func slowHolder(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	lease := s.params.TTL
	s.params.Hold = s.percent(lease, 40, 65)
	work := s.percent(lease, 120, 200)
	s.params.Duration = 3*lease + work
	p.Steps = []faults.Step{
		{Name: "client-clock-drift", When: faults.Trigger{At: workloads.Moment{Point: workloads.Asking}},
			Do: faults.Action{Verb: faults.ClientDrift, By: -s.randomDuration(300*time.Millisecond, 900*time.Millisecond)}, For: s.uniqueDuration(work + lease)},
		{Name: "client-clock-drift", When: firstGrant(0), Do: faults.Action{Verb: faults.Stall, By: work}}}
	return p
}
