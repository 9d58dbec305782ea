package explore

import (
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/zookeeper"
	"lockbench/workloads"
)

// renews reports whether a hold is renewed until its release.
func (s *scene) renews() bool { return s.lock.Renews || s.lock.Session }

// grantsLate reports whether the stage lateGrant is possible.
func (s *scene) grantsLate() bool { return s.renews() && s.allows("slow-network") }

// notified reports whether the stage resetWaiter is possible.
func (s *scene) notified() bool { return s.lock.Notifies && s.allows("process-pause") }

// repliesLate reports whether the stage lateReplies is possible. It needs to know the commands of the lock.
func (s *scene) repliesLate() bool {
	return s.lock.Notifies && s.lock.Store == servers.Redis && s.cancels() && s.allows("cancelled-acquire")
}

func (s *scene) hasSessions() bool { return s.lock.Session }

// capped reports whether the server limits the lease.
func (s *scene) capped() bool { return s.lock.Store == servers.ZooKeeper && s.lock.Program == nil }

// drifts reports whether the clocks of servers may run fast.
func (s *scene) drifts() bool { return s.lock.AllowsDrift && !s.real }

// atLeast makes the lease at least as long as the given duration, and returns the lease. Stages use it if the lease must be long
// compared with a delay that does not depend on the lease.
func (s *scene) atLeast(lease time.Duration) time.Duration {
	s.params.TTL = s.lock.Granting(max(s.params.TTL, lease))
	return s.params.TTL
}

// sessionLease returns the lease. If holds end with sessions, it makes the lease at least as long as the given duration, because
// servers end sessions only at intervals of up to a second.
func (s *scene) sessionLease(least time.Duration) time.Duration {
	if s.lock.Session {
		return s.atLeast(least)
	}
	return s.params.TTL
}

// percent returns a random part of a duration, from low to high per cent.
func (s *scene) percent(of time.Duration, low, high int) time.Duration {
	return of * time.Duration(low+s.rand.IntN(high-low+1)) / 100
}

// firstGrant returns a trigger that fires after a delay, counted from the first grant to the first client.
func firstGrant(later time.Duration) faults.Trigger {
	return faults.Trigger{At: workloads.Moment{Point: workloads.Granted}, Later: later}
}

// outlived returns a plan in which the holder is cut off after its first renewal, until its lease has ended. It works for longer
// than that.
func outlived(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	lease := s.params.TTL
	s.params.Hold = s.percent(lease, 250, 400)
	s.params.Duration = s.params.Hold + 2*lease
	s.params.Grace = 8 * lease
	p.Steps = []faults.Step{{Name: "partition", When: firstGrant(s.uniqueDuration(s.percent(lease, 38, 90))),
		Do: faults.Action{Verb: faults.Cut, Nodes: s.nodes(5)}, For: s.uniqueDuration(s.percent(lease, 150, 300))}}
	return p
}

// lateGrant returns a plan in which a reply to an acquire takes half a lease or more. When the lock is granted, the holder is cut off
// until its lease has ended. In most cases the holder has used the lock before, so that it may have a session.
func lateGrant(s *scene) faults.Plan {
	lease := s.sessionLease(4 * time.Second)
	p := s.inTurn(2 + s.rand.IntN(2))
	if s.chance(70) {
		p.Quick = 1
	}
	p.Rest(0, p.Quick+1)
	asked := workloads.Moment{Iteration: p.Quick, Point: workloads.Asking}
	granted := workloads.Moment{Iteration: p.Quick, Point: workloads.Granted}
	for i := range p.Gates {
		p.Gates[i].Until, p.Gates[i].Timeout = granted, 3*lease
	}
	s.params.Hold = s.percent(lease, 150, 250)
	s.params.Duration = s.params.Hold + 2*lease
	by := s.uniqueDuration(s.percent(lease, 50, 75))
	p.Steps = []faults.Step{
		{Name: "slow-network", When: faults.Trigger{At: asked, On: &faults.Passing{Nth: 1 + s.rand.IntN(4)/3, Reply: true}}, Do: faults.Action{Verb: faults.Delay, By: by}, For: by},
		{Name: "partition", When: faults.Trigger{At: granted}, Do: faults.Action{Verb: faults.Cut, Nodes: s.nodes(5)}, For: s.uniqueDuration(s.percent(lease, 150, 200))}}
	return p
}

// resetWaiter returns a plan in which a waiter misses the release: shortly before, its connections are closed and its process is
// paused. The lease is so long that a waiter that does not try again when it reconnects waits noticeably longer.
func resetWaiter(s *scene) faults.Plan {
	s.atLeast(5 * ttl)
	p := s.inTurn(2)
	s.params.Hold = s.randomDuration(50*time.Millisecond, s.params.TTL/3)
	s.params.Duration = 2 * s.params.TTL
	before := s.randomDuration(time.Millisecond, s.params.Hold/2)
	at := s.params.Hold - before
	p.Steps = []faults.Step{
		{Name: "reset", When: firstGrant(s.uniqueDuration(at)), Do: faults.Action{Verb: faults.Reset, Process: 1, Nodes: s.nodes(5)}},
		{Name: "process-pause", When: firstGrant(s.uniqueDuration(at)), Do: faults.Action{Verb: faults.Pause, Process: 1},
			For: s.uniqueDuration(before + s.randomDuration(10*time.Millisecond, time.Second))}}
	return p
}

// lateReplies returns a plan in which a key is released while the replies to two waiters of one process are in flight. The timeout of
// one of them ends meanwhile. The notification must then wake the other.
func lateReplies(s *scene) faults.Plan {
	s.atLeast(5 * ttl)
	p := s.inTurn(4)
	s.params.Processes = 2
	p.Rest(1, 1)
	p.Rest(2, 0) // only the clients 1 and 3, in the second process, wait
	p.Rest(3, 1)
	s.params.Hold = s.percent(20*time.Millisecond, 20, 100)
	s.params.Duration = s.params.TTL
	asked := workloads.Moment{Client: 1, Point: workloads.Asking}
	by := s.percent(50*time.Millisecond, 60, 96)
	wait := s.uniqueDuration(s.percent(by, 20, 100))
	p.Steps = []faults.Step{{Name: "cancelled-acquire", When: faults.Trigger{At: asked},
		Do: faults.Action{Verb: faults.GiveUp, Client: 1, Process: 1, Wait: wait}, For: s.uniqueDuration(wait)}}
	first := 3 // both waiters try once before they subscribe
	if s.chance(30) {
		first = 2 + 2*s.rand.IntN(2)
	}
	for nth := first; nth < first+2; nth++ {
		late := s.uniqueDuration(by + s.randomDuration(0, 5*time.Millisecond))
		p.Steps = append(p.Steps, faults.Step{Name: "slow-network",
			When: faults.Trigger{At: asked, On: &faults.Passing{Process: 1, Commands: []string{"EVALSHA"}, Nth: nth, Reply: true}},
			Do:   faults.Action{Verb: faults.Delay, Client: 1, Process: 1, By: late}, For: late})
	}
	return p
}

// lostRelease returns a plan in which a release does not reach the server, and its caller cancels it. The connections are restored
// within the lease.
func lostRelease(s *scene) faults.Plan {
	lease := s.sessionLease(3 * time.Second)
	p := s.inTurn(2 + s.rand.IntN(2))
	p.Rest(0, 1+uint64(s.rand.IntN(2)))
	s.params.Hold = s.randomDuration(lease/200, lease/4)
	s.params.Duration, s.params.Grace = lease, 2*lease // a waiter may wait without end
	at := faults.Trigger{At: workloads.Moment{Point: workloads.Releasing}}
	wait := s.uniqueDuration(s.randomDuration(time.Millisecond, lease/8))
	p.Steps = []faults.Step{
		{Name: "partition", When: at, Do: faults.Action{Verb: faults.Cut, Nodes: s.nodes(5)}, For: s.uniqueDuration(wait + s.percent(lease, 1, 40))},
		{Name: "interrupted-release", When: at, Do: faults.Action{Verb: faults.Interrupt, Wait: wait}, For: s.uniqueDuration(wait)}}
	return p
}

// cancelledWaiter returns a plan in which a waiter with a slow connection cancels its acquire. Often one of its requests is then in
// flight.
func cancelledWaiter(s *scene) faults.Plan {
	lease := s.sessionLease(3 * time.Second)
	p := s.inTurn(2 + s.rand.IntN(2))
	s.params.Hold = s.percent(lease, 30, 80)
	s.params.Duration, s.params.Grace = lease, 2*lease
	at := faults.Trigger{At: workloads.Moment{Client: 1, Point: workloads.Asking}}
	by := s.randomDuration(20*time.Millisecond, ttl/4)
	wait := s.uniqueDuration(by + s.randomDuration(time.Millisecond, 12*by))
	p.Steps = []faults.Step{
		{Name: "slow-network", When: at, Do: faults.Action{Verb: faults.Slow, Process: 1, Nodes: s.nodes(5), By: by}, For: s.uniqueDuration(wait + by)},
		{Name: "cancelled-acquire", When: at, Do: faults.Action{Verb: faults.GiveUp, Context: s.chance(70), Client: 1, Process: 1, Wait: wait}, For: s.uniqueDuration(wait)}}
	return p
}

// cancelledGrant returns a plan in which a client cancels its acquire of a free key while a reply is in flight. Other servers may have
// granted it. The other client waits, so that what the acquire left is seen.
func cancelledGrant(s *scene) faults.Plan {
	p := s.inTurn(2)
	s.params.Hold = s.randomDuration(time.Millisecond, s.params.TTL/4)
	s.params.Duration = 3 * s.params.TTL
	by := s.randomDuration(5*time.Millisecond, s.params.TTL/10)
	on := &faults.Passing{Nth: 1 + s.rand.IntN(s.nodeCount()), Reply: true}
	p.Steps = []faults.Step{{Name: "cancelled-acquire", When: faults.Trigger{At: workloads.Moment{Point: workloads.Asking}, On: on},
		Do: faults.Action{Verb: faults.GiveUp, Wait: s.uniqueDuration(s.percent(by, 10, 90)), By: by}, For: s.uniqueDuration(by)}}
	return p
}

// nodeCount returns the number of servers to which a client sends its request.
func (s *scene) nodeCount() int {
	if s.several() {
		return 5
	}
	return 1
}

// unreplicated returns a plan in which the replicas receive nothing any more from the first request on. No replica takes over.
func unreplicated(s *scene) faults.Plan {
	p := s.inTurn(2)
	s.params.Hold = s.randomDuration(time.Millisecond, s.params.TTL/4)
	s.params.Duration = 3 * s.params.TTL
	p.Steps = []faults.Step{{Name: "failover", When: faults.Trigger{At: workloads.Moment{Point: workloads.Asking}},
		Do: faults.Action{Verb: faults.Unlink, Nodes: s.replicas()}}}
	return p
}

// seldom returns a plan without faults. Each client pauses for about a lease between two holds.
func seldom(s *scene) (p faults.Plan) {
	s.workload = usual
	s.params.Clients = 1 + s.rand.IntN(3)
	s.params.Processes = s.params.Clients
	s.params.Keys, s.params.Spread, s.params.Habits, s.params.Wait = 1, workloads.One, nil, 0
	s.params.Hold = s.randomDuration(time.Millisecond, s.params.TTL/10)
	s.params.Think = s.percent(s.params.TTL, 100, 150)
	s.params.Duration = 5 * s.params.TTL
	return p
}

// shortened returns a plan in which a client requests a longer lease than the server grants. The holder is then cut off until the lease
// that it requested has ended.
func shortened(s *scene) faults.Plan {
	lease := s.atLeast(zookeeper.LongestSession * 3 / 2)
	p := s.inTurn(2)
	s.params.Hold = lease
	s.params.Duration, s.params.Grace = lease, 3*lease
	p.Steps = []faults.Step{{Name: "partition", When: firstGrant(s.uniqueDuration(s.randomDuration(0, lease/10))),
		Do: faults.Action{Verb: faults.Cut, Nodes: s.nodes(5)}, For: s.uniqueDuration(lease)}}
	return p
}

// fastServers returns a plan in which the clocks of most servers run fast, by less than the allowance of the lock. The first client
// works for longer than its lease.
func fastServers(s *scene) faults.Plan {
	lease := s.atLeast(longLease)
	p := s.inTurn(2 + s.rand.IntN(2))
	s.params.Hold = s.randomDuration(lease/100, lease/4)
	s.params.Duration = 2 * lease
	by := s.percent(allowedDrift, 60, 100)
	p.Steps = []faults.Step{
		{Name: "clock-drift", Do: faults.Action{Verb: faults.Drift, Nodes: s.rand.Perm(5)[:3+s.rand.IntN(3)], By: by}},
		{Name: "holder-stall", When: firstGrant(0), Do: faults.Action{Verb: faults.Stall, By: lease + lease/20}}}
	return p
}
