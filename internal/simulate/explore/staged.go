package explore

import (
	"slices"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// stage creates a case with a certain sequence of events. Random faults rarely form this sequence.
type stage struct {
	name string // name of a required fault; "": none
	fits func(*scene) bool
	make func(*scene) faults.Plan
}

// stages lists the sequences of events that the strategy "staged" chooses from. An entry that occurs twice is chosen
// more often.
var stages = []stage{
	{make: undisturbed},
	{make: undisturbed},
	{make: contended},
	{name: "holder-stall", make: overtaken},
	{name: "partition", fits: (*scene).rereleases, make: cutRelease},
	{name: "slow-network", make: lateWaiter},
	{name: "server-restart", fits: (*scene).single, make: longRestart},
	{name: "partition", fits: (*scene).renews, make: outlived},
	{name: "partition", fits: (*scene).grantsLate, make: lateGrant},
	{name: "reset", fits: (*scene).notified, make: resetWaiter},
	{name: "slow-network", fits: (*scene).repliesLate, make: lateReplies},
	{name: "partition", fits: func(s *scene) bool { return s.cancels() && s.allows("interrupted-release") }, make: lostRelease},
	{name: "slow-network", fits: func(s *scene) bool { return s.cancels() && s.allows("cancelled-acquire") }, make: cancelledWaiter},
	{name: "clock-drift", fits: (*scene).drifts, make: fastServers},
	{name: "cancelled-acquire", fits: (*scene).cancels, make: cancelledGrant},
}

// realStages lists further sequences of events, for real servers and processes only.
var realStages = []stage{
	{name: "client-exit", make: exited},
	{name: "failover", fits: (*scene).replicated, make: behind},
	{name: "failover", fits: (*scene).replicated, make: behind},
	{name: "partition", make: cutWaiter},
	{name: "failover", fits: (*scene).replicated, make: unreplicated},
	{name: "waiter-session-kill", fits: (*scene).endsWaiters, make: withoutSession},
	{fits: (*scene).hasSessions, make: seldom},
	{name: "partition", fits: (*scene).capped, make: shortened},
	{name: "cancelled-acquire", fits: (*scene).cancelsInQueue, make: cancelledInQueue},
	{name: "cancelled-acquire", fits: (*scene).cancelsInQueue, make: cancelledInQueue},
	{name: "slow-network", make: heldBack},
	{name: "slow-network", fits: (*scene).hasSessions, make: heldBack}, // an acquire by a session has several requests
	{name: "slow-network", fits: (*scene).hasSessions, make: heldBack},
	{name: "slow-network", fits: (*scene).hasSessions, make: heldBack},
	{name: "session-kill", fits: (*scene).endsSilently, make: silentlyEnded},
	{name: "client-clock-forward", fits: (*scene).movesClocks, make: waiterAhead},
	{name: "client-clock-back", fits: (*scene).movesClocks, make: holderBehind},
	{name: "client-clock-drift", fits: (*scene).movesClocks, make: fastWaiter},
	{name: "client-clock-drift", fits: (*scene).movesClocks, make: slowHolder},
}

// staged returns the plan of a random sequence of events. It changes the workload and the parameters accordingly.
func staged(s *scene) faults.Plan {
	stages := stages
	if s.real {
		stages = slices.Concat(stages, realStages)
	}
	for _, i := range s.rand.Perm(len(stages)) {
		if x := stages[i]; (x.name == "" || s.allows(x.name)) && (x.fits == nil || x.fits(s)) {
			return x.make(s)
		}
	}
	return faults.Plan{}
}

// replicated reports whether the server has replicas that can take over.
func (s *scene) replicated() bool { return len(s.replicas()) > 0 }

// replicas returns the indexes of the replicas.
func (s *scene) replicas() []int {
	switch s.deployment {
	case servers.Replica:
		return []int{1}
	case servers.TwoReplicas:
		return []int{1, 2}
	}
	return nil
}

// endsWaiters reports whether the session of a waiter can be ended.
func (s *scene) endsWaiters() bool { return s.lock.Session && s.lock.Program == nil }

func (s *scene) single() bool { return !s.several() && s.deployment != "three" }

// rereleases reports whether a client may repeat a release with an unknown outcome.
func (s *scene) rereleases() bool { return s.lock.Program != nil && s.lock.Program.Rereleases }

// undisturbed returns a plan without faults, because after a fault many answers are not judged. Clients use the lock in
// different ways. Often a process has several clients and several keys.
func undisturbed(s *scene) faults.Plan {
	s.workload = "varied"
	s.params.Habits, s.params.Keys, s.params.Spread = nil, 1, workloads.One
	s.chooseHabits()
	if s.chance(50) {
		s.params.Processes = 1 + s.rand.IntN(2)
	}
	if s.params.Keys == 1 && s.chance(40) {
		s.params.Keys, s.params.Spread = 2+s.rand.IntN(2), workloads.Uniform
	}
	return faults.Plan{}
}

// contended returns a plan without faults. Many clients hold the key for a moment each, so that requests, releases and wake-ups
// meet.
func contended(s *scene) faults.Plan {
	s.workload = "contend"
	s.params.Clients = 4 + s.rand.IntN(5)
	s.params.Processes = 1 + s.rand.IntN(s.params.Clients)
	s.params.Keys, s.params.Spread, s.params.Habits, s.params.Wait = 1, workloads.One, nil, 0
	s.params.Hold, s.params.Think = s.randomDuration(0, 2*time.Millisecond), s.randomDuration(0, 2*time.Millisecond)
	if s.params.Duration = s.params.TTL; !s.real { // an event costs time, a pause does not
		s.params.Duration = s.params.TTL / 4
	}
	return faults.Plan{}
}

// inTurn makes each client use a separate process and stop after one hold, or sometimes two. The first client is granted
// the lock before the other clients begin.
func (s *scene) inTurn(clients int) (p faults.Plan) {
	s.workload = usual
	s.params.Clients, s.params.Processes = clients, clients
	s.params.Keys, s.params.Spread, s.params.Habits, s.params.Wait = 1, workloads.One, nil, 0
	s.params.Think = time.Millisecond
	s.params.Grace = 6 * s.params.TTL
	first := workloads.Moment{Point: workloads.Granted}
	p.Rest(0, 1)
	for c := int32(1); c < int32(clients); c++ {
		p.Gates = append(p.Gates, faults.Gate{Client: c, Until: first, Timeout: 2 * s.params.TTL})
		p.Rest(c, 1+uint64(s.rand.IntN(5)/4))
	}
	return p
}

// overtaken returns a plan in which a holder may be paused or cut off for longer than its lease. It then continues to
// work. Meanwhile the other clients hold the lock briefly, so that the key is free again when the holder continues.
func overtaken(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	lease := s.params.TTL
	away := lease * time.Duration(120+s.rand.IntN(120)) / 100
	work := away + lease*time.Duration(60+s.rand.IntN(200))/100
	s.params.Hold = s.randomDuration(lease/200, lease/3)
	s.params.Duration = work + lease
	p.Steps = []faults.Step{{Name: "holder-stall", When: faults.Trigger{At: workloads.Moment{Point: workloads.Granted}}, Do: faults.Action{Verb: faults.Stall, By: work}}}
	from := faults.Trigger{At: workloads.Moment{Point: workloads.Granted}, Later: s.uniqueDuration(s.randomDuration(lease/50, lease/2))}
	switch n := s.rand.IntN(3); {
	case n < 2 && s.allows("process-pause"):
		p.Steps = append(p.Steps, faults.Step{Name: "process-pause", When: from, Do: faults.Action{Verb: faults.Pause}, For: s.uniqueDuration(away)})
	case s.allows("partition"):
		p.Steps = append(p.Steps, faults.Step{Name: "partition", When: from, Do: faults.Action{Verb: faults.Cut, Nodes: s.nodes(5)}, For: s.uniqueDuration(away)})
	}
	return p
}

// longLease is the lease of some cases. It is longer than the timeouts of most clients. An operation can then fail and
// be repeated within the lease.
const longLease = 10 * time.Second

// cutRelease returns a plan in which a release does not reach the server. The client repeats it before the lease ends.
func cutRelease(s *scene) faults.Plan {
	s.params.TTL = max(s.params.TTL, longLease)
	p := s.inTurn(2)
	s.params.Hold = s.randomDuration(10*time.Millisecond, 300*time.Millisecond)
	s.params.Duration = longLease / 2
	p.Steps = []faults.Step{{Name: "partition", When: faults.Trigger{At: workloads.Moment{Point: workloads.Releasing}},
		Do: faults.Action{Verb: faults.Cut, Nodes: s.nodes(5)}, For: s.uniqueDuration(s.randomDuration(200*time.Millisecond, 4*time.Second))}}
	return p
}

// The variable waits lists the Redis commands that a waiter uses to learn of a release or to read the state of the lock.
var waits = []string{"BLPOP", "SUBSCRIBE", "PSUBSCRIBE", "GET", "EVALSHA", "EVAL", "SET", "SETNX", "HSET", "PEXPIRE", "PTTL", "PUBSUB", "CLIENT", "UNSUBSCRIBE"}

// lateWaiter returns a plan in which a command of a waiter is delayed until the holder has released the lock.
func lateWaiter(s *scene) faults.Plan {
	p := s.inTurn(2)
	s.params.Hold = s.randomDuration(s.params.TTL/20, s.params.TTL/2)
	s.params.Duration = 2 * s.params.TTL
	by := s.uniqueDuration(s.params.Hold + s.randomDuration(s.params.TTL/20, s.params.TTL))
	on := &faults.Passing{Process: 1, Nth: 1 + s.rand.IntN(4)}
	switch n := s.rand.IntN(4); {
	case s.lock.Store != "redis" || n == 0:
	case n < 3:
		on.Commands, on.Nth = []string{"BLPOP", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"}, 1
	default:
		on.Commands, on.Nth = []string{waits[s.rand.IntN(len(waits))]}, 1+s.rand.IntN(2)
	}
	p.Steps = []faults.Step{{Name: "slow-network", When: faults.Trigger{At: workloads.Moment{Client: 1, Point: workloads.Asking}, On: on},
		Do: faults.Action{Verb: faults.Delay, Client: 1, Process: 1, By: by}, For: by}}
	return p
}

// longRestart returns a plan in which the server is down for 0.5 to 2.5 leases while a client holds the lock. Afterwards
// the clients acquire the lock again.
func longRestart(s *scene) faults.Plan {
	lease := s.params.TTL
	p := s.inTurn(2 + s.rand.IntN(2))
	p.Turns = slices.DeleteFunc(p.Turns, func(t faults.Turns) bool { return s.chance(70) })
	if s.lock.Renews || s.lock.Session {
		s.params.Hold = s.randomDuration(lease/2, 2*lease)
	}
	s.params.Duration = 5 * lease
	away := s.uniqueDuration(lease * time.Duration(50+s.rand.IntN(200)) / 100)
	p.Steps = []faults.Step{{Name: "server-restart", When: faults.Trigger{At: workloads.Moment{Point: workloads.Granted}, Later: s.uniqueDuration(s.randomDuration(0, lease))},
		Do: faults.Action{Verb: faults.Restart, Nodes: []int{0}, By: away, Keeps: s.deployment == "durable"}, For: away}}
	return p
}

// exited returns a plan in which the program of the first holder ends by itself during its hold.
func exited(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	s.params.Hold = s.randomDuration(s.params.TTL/20, s.params.TTL*2/3)
	s.params.Duration = 3 * s.params.TTL
	at := []workloads.Point{workloads.Granted, workloads.Working, workloads.Releasing}[s.rand.IntN(3)]
	p.Steps = []faults.Step{{Name: "client-exit", When: faults.Trigger{At: workloads.Moment{Point: at}}, Do: faults.Action{Verb: faults.Exit}}}
	return p
}

// withoutSession returns a plan in which the session of the last waiter ends while the first client holds the lock. Some
// clients acquire the lock again afterwards.
func withoutSession(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(3))
	p.Turns = slices.DeleteFunc(p.Turns, func(faults.Turns) bool { return s.chance(70) })
	s.params.Hold = s.randomDuration(s.params.TTL/20, s.params.TTL*2/3)
	s.params.Duration = 3 * s.params.TTL
	when := faults.Trigger{At: workloads.Moment{Point: workloads.Granted}, Later: s.uniqueDuration(s.params.Hold * time.Duration(20+s.rand.IntN(70)) / 100)}
	p.Steps = []faults.Step{{Name: "waiter-session-kill", When: when, Do: faults.Action{Verb: faults.Unseat, Waiter: true, Nodes: []int{0}}}}
	return p
}

// behind returns a plan in which a replica takes over that has received nothing since the first client requested the lock. No
// other client requests the lock before the first one is granted.
func behind(s *scene) faults.Plan {
	s.params.TTL = s.lock.Granting(max(s.params.TTL, 2*time.Second)) // a failover takes up to half a second
	p := s.inTurn(2 + s.rand.IntN(2))
	p.Turns = slices.DeleteFunc(p.Turns, func(t faults.Turns) bool { return t.Client > 0 }) // a failover interrupts some acquires
	s.promoted = true
	s.params.Hold = s.randomDuration(s.params.TTL*2/5, s.params.TTL*3/5)
	s.params.Duration = 2 * s.params.TTL
	first := workloads.Moment{Point: workloads.Granted}
	p.Steps = []faults.Step{
		{Name: "failover", When: faults.Trigger{At: workloads.Moment{Point: workloads.Asking}}, Do: faults.Action{Verb: faults.Unlink, Nodes: s.replicas()}},
		{Name: "failover", When: faults.Trigger{At: first, Later: s.uniqueDuration(s.randomDuration(0, s.params.TTL/5))},
			Do: faults.Action{Verb: faults.Failover, Nodes: []int{1}}}}
	return p
}

// cutWaiter returns a plan in which a waiter cannot reach the server at the moment of the release, for a part of its lease. The
// other clients go on.
func cutWaiter(s *scene) faults.Plan {
	p := s.inTurn(2 + s.rand.IntN(2))
	p.Turns = slices.DeleteFunc(p.Turns, func(t faults.Turns) bool { return t.Client != 1 && s.chance(70) })
	s.params.Hold = s.randomDuration(s.params.TTL/10, s.params.TTL/2)
	s.params.Duration = 4 * s.params.TTL
	cut := faults.Action{Verb: faults.Cut, Process: 1, Nodes: s.nodes(5), OneWay: s.chance(30)}
	p.Steps = []faults.Step{{Name: "partition", When: faults.Trigger{At: workloads.Moment{Point: workloads.Releasing}}, Do: cut,
		For: s.uniqueDuration(s.params.TTL * time.Duration(20+s.rand.IntN(130)) / 100)}}
	if cut.OneWay {
		p.Steps[0].Name = "partition-one-way"
	}
	return p
}
