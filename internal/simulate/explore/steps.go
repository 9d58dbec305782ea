package explore

import (
	"slices"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
	"lockbench/workloads"
)

// maker creates the steps of a fault plan for one kind of fault. If a step has no trigger, the caller adds one.
type maker struct {
	name string // name of the fault in package faults and in histories
	on   string // required deployment or lock: "one" or "five" servers, "three": an ensemble, "replica": a server with a replica, "alone": no replica, "notifies": a lock with notifications, "session": a lock with sessions, "clock": a lock whose processes have a movable clock, "": any
	only string // required engine: "real" servers, "virtual" time, or "" for any

	at   workloads.Point // point of a client's iteration at which the step happens; "": the caller chooses
	verb faults.Verb
	// client and process state whether the step affects the client, and whether it affects the client's process.
	client, process bool
	nodes           int                        // maximum number of servers that the step affects
	by              func(*scene) time.Duration // returns the value of Action.By; nil: the value is 0
	oneWay, lasts   bool

	make func(*scene, int32) []faults.Step // creates the steps; if nil, the other fields describe a single step
}

// makers returns a maker for each kind of fault, except for the faults of a single command or reply. The function named
// commandMakers returns the makers of these.
func makers() []maker {
	return []maker{
		{name: "holder-stall", at: workloads.Granted, verb: faults.Stall, client: true, by: (*scene).durationNearLease},
		{name: "holder-abandon", at: workloads.Granted, verb: faults.Abandon, client: true},
		{name: "process-pause", verb: faults.Pause, process: true, lasts: true},
		{name: "holder-kill", verb: faults.Kill, process: true},
		{name: "partition", verb: faults.Cut, process: true, nodes: 3, lasts: true},
		{name: "partition-one-way", verb: faults.Cut, process: true, nodes: 3, oneWay: true, lasts: true},
		{name: "slow-network", verb: faults.Slow, process: true, nodes: 5, by: slower, lasts: true},
		{name: "reset", verb: faults.Reset, process: true, nodes: 5},
		{name: "lost-wakeup", on: "notifies", verb: faults.Mute, process: true, lasts: true},
		{name: "server-restart", on: "one", make: restarting},
		{name: "node-restart", on: "five", make: restarting},
		{name: "minority-down", on: "five", make: minorityDown},
		{name: "server-pause", verb: faults.Freeze, nodes: 2, lasts: true},
		{name: "clock-forward", verb: faults.Jump, nodes: 2, by: (*scene).durationNearLease},
		{name: "clock-back", verb: faults.Jump, nodes: 2, by: func(s *scene) time.Duration { return -s.durationNearLease() }},
		{name: "clock-drift", only: "virtual", verb: faults.Drift, make: drifting},
		{name: "eviction", on: "one", verb: faults.Evict, nodes: 1},
		{name: "failover", on: "replica", verb: faults.Failover, make: failover},
		{name: "empty", verb: faults.Empty, nodes: 2},
		{name: "forget-scripts", verb: faults.ForgetScripts, nodes: 5},
		{name: "read-only", on: "alone", verb: faults.ReadOnly, nodes: 2, lasts: true},
		{name: "full", only: "real", verb: faults.Full, nodes: 2, lasts: true},
		{name: "session-kill", only: "real", verb: faults.Unseat, nodes: 1},
		{name: "leader-loss", only: "real", on: "three", verb: faults.Depose},
	}
}

// realMakers returns the makers of faults that only real servers and processes have. They are not in the list of makers, so that a
// seed determines the same case in virtual time.
func realMakers() []maker {
	return []maker{
		{name: "client-exit", verb: faults.Exit, make: exiting},
		{name: "waiter-session-kill", on: "session", verb: faults.Unseat, make: waiterEnded},
		{name: "client-clock-forward", on: "clock", verb: faults.ClientJump, process: true, by: (*scene).durationNearLease},
		{name: "client-clock-back", on: "clock", verb: faults.ClientJump, process: true, by: func(s *scene) time.Duration { return -s.durationNearLease() }},
		{name: "client-clock-drift", on: "clock", verb: faults.ClientDrift, make: clientDrifting},
	}
}

// exiting returns a step in which a program ends by itself during a hold. Usually a process has one client.
func exiting(s *scene, c int32) []faults.Step {
	held := []workloads.Point{workloads.Granted, workloads.Granted, workloads.Working, workloads.Releasing}
	return []faults.Step{{When: s.triggerAt(c, held[s.rand.IntN(len(held))]), Do: faults.Action{Verb: faults.Exit, Process: s.processOf(c)}}}
}

// waiterEnded returns a step that ends the session of the last waiter during a hold.
func waiterEnded(s *scene, c int32) []faults.Step {
	when := s.triggerAt(c, workloads.Granted)
	when.Later = s.uniqueDuration(s.randomDuration(time.Millisecond, max(s.params.Hold, s.params.TTL/20)))
	return []faults.Step{{When: when, Do: faults.Action{Verb: faults.Unseat, Waiter: true, Nodes: []int{0}}}}
}

// steps returns the steps of the fault that m describes. The caller sets their names. steps must always draw its random
// numbers in the same order. Otherwise a seed would determine a different case.
func (m maker) steps(s *scene, c int32) []faults.Step {
	if m.make != nil {
		return m.make(s, c)
	}
	step := faults.Step{Do: faults.Action{Verb: m.verb, OneWay: m.oneWay}}
	if m.at != "" {
		step.When = s.triggerAt(c, m.at)
	}
	if m.client {
		step.Do.Client = c
	}
	if m.process {
		step.Do.Process = s.processOf(c)
		if m.verb != faults.Kill && s.chance(12) {
			step.Do.Process = -1 // affect all processes
		}
	}
	if m.nodes > 0 {
		step.Do.Nodes = s.nodes(m.nodes)
	}
	if m.by != nil {
		step.Do.By = m.by(s)
	}
	if m.lasts {
		step.For = s.uniqueDuration(s.durationNearLease())
	}
	return []faults.Step{step}
}

func slower(s *scene) time.Duration { return s.randomDuration(time.Millisecond, s.params.TTL/3) }

// minorityDown returns a step that stops one or two servers until the trial ends. It returns nil if more than two
// servers would then be stopped.
func minorityDown(s *scene, _ int32) []faults.Step {
	nodes := s.nodes(2)
	if s.down += len(nodes); s.down > 2 {
		return nil
	}
	return []faults.Step{{Do: faults.Action{Verb: faults.Down, Nodes: nodes}}}
}

// clientDrifting returns a step in which the wall clock of a process runs fast or slow. It gains or loses enough for the change to be
// verified at the end.
func clientDrifting(s *scene, c int32) []faults.Step {
	by := s.randomDuration(200*time.Millisecond, time.Second)
	if s.chance(50) {
		by = -by / 2
	}
	return []faults.Step{{Do: faults.Action{Verb: faults.ClientDrift, Process: s.processOf(c), By: by}, For: s.uniqueDuration(2 * max(s.durationNearLease(), s.params.TTL))}}
}

func drifting(s *scene, _ int32) []faults.Step {
	by := s.randomDuration(10*time.Millisecond, time.Second)
	if s.chance(30) {
		by = -by / 2
	}
	return []faults.Step{{Do: faults.Action{Verb: faults.Drift, Nodes: s.nodes(3), By: by}, For: s.uniqueDuration(2 * s.durationNearLease())}}
}

// failover returns steps that promote the replica. In three of four cases, replication stops earlier. The replica then
// lacks the latest writes.
func failover(s *scene, c int32) []faults.Step {
	if s.promoted {
		return nil // the only replica has already been promoted
	}
	s.promoted = true
	over := faults.Step{Do: faults.Action{Verb: faults.Failover, Nodes: []int{1}}}
	if s.chance(25) {
		return []faults.Step{over}
	}
	return []faults.Step{{When: s.triggerAt(c, workloads.Asking), Do: faults.Action{Verb: faults.Unlink, Nodes: []int{1}}}, over}
}

// restarting returns a step that restarts servers at once or after a delay, with or without their data. In the
// deployment five-delayed, the delay is longer than a lease.
func restarting(s *scene, _ int32) []faults.Step {
	step := faults.Step{Do: faults.Action{Verb: faults.Restart, Nodes: s.nodes(3), Keeps: s.chance(20)}}
	if s.real {
		step.Do.Keeps = s.deployment == "durable"
	}
	away := time.Duration(0)
	if s.chance(50) {
		away = s.durationNearLease()
	}
	if s.deployment == "five-delayed" {
		away = max(away, s.params.TTL*5/4)
	}
	if away > 0 {
		step.For = s.uniqueDuration(away)
		step.Do.By = step.For
	}
	return []faults.Step{step}
}

// twoRequests is the time in which a lock certainly sends two requests and gets the replies, in virtual time without a fault. A client
// that stops earlier may stop although the fault does not affect its command.
const twoRequests = 2 * time.Millisecond

// commandMakers returns a maker for each kind of fault that affects a single command or reply.
func commandMakers() []maker {
	return []maker{
		{name: "slow-network", make: func(s *scene, c int32) []faults.Step {
			by := s.messageDelay()
			return []faults.Step{{Do: faults.Action{Verb: faults.Delay, Client: c, Process: s.processOf(c), By: by}, For: s.uniqueDuration(by)}}
		}},
		{name: "lost-reply", make: func(s *scene, c int32) []faults.Step {
			return []faults.Step{{When: faults.Trigger{On: &faults.Passing{Reply: true}}, Do: faults.Action{Verb: faults.Lose, Client: c, Process: s.processOf(c), Silent: s.chance(30)}}}
		}},
		{name: "cancelled-acquire", make: func(s *scene, c int32) []faults.Step {
			by := s.messageDelay()
			return []faults.Step{{When: faults.Trigger{At: s.triggerAt(c, workloads.Asking).At, On: &faults.Passing{Reply: true}},
				Do: faults.Action{Verb: faults.GiveUp, Context: also(s.params.Seed, cancelledContext).IntN(2) == 0, Client: c, Process: s.processOf(c), Wait: twoRequests + s.randomDuration(time.Millisecond, s.params.TTL/4), By: by}, For: s.uniqueDuration(by)}}
		}},
		{name: "interrupted-release", make: func(s *scene, c int32) []faults.Step {
			by := s.messageDelay()
			return []faults.Step{{When: faults.Trigger{At: s.triggerAt(c, workloads.Releasing).At, On: &faults.Passing{Reply: true}},
				Do: faults.Action{Verb: faults.Interrupt, Client: c, Process: s.processOf(c), Wait: twoRequests + s.randomDuration(time.Millisecond, s.params.TTL/8), By: by}, For: s.uniqueDuration(by)}}
		}},
	}
}

// fits reports whether the steps of m are allowed and possible with the deployment, the lock and the engine.
func (s *scene) fits(m maker) bool {
	on := map[string]bool{"": true, "five": s.several(), "one": !s.several(), "replica": s.deployment == "replica", "alone": !s.replicated(),
		"three": s.deployment == "three", "notifies": s.lock.Notifies, "session": s.endsWaiters(), "clock": s.movesClocks()}
	engine := map[string]bool{"": true, "real": s.real, "virtual": !s.real}
	return s.allows(m.name) && on[m.on] && engine[m.only] && (s.lock.Store == "redis" || !faults.RedisOnly(m.verb)) && (!m.cancels() || s.cancels()) &&
		(m.name != "session-kill" || applies(m.name, sim.Trial{Lock: s.lock}))
}

// cancels reports whether the steps of m cancel an acquire or a release.
func (m maker) cancels() bool {
	return m.name == "cancelled-acquire" || m.name == "interrupted-release"
}

func (s *scene) cancels() bool { return s.lock.Program == nil || !s.lock.Program.CannotCancel }

func (s *scene) allows(name string) bool {
	return len(s.allowed) == 0 || slices.Contains(s.allowed, name)
}

// chooseFault returns the steps of one fault for client c. It chooses the kind of fault at random. If no kind is
// possible, it returns nil.
func (s *scene) chooseFault(of []maker, c int32) []faults.Step {
	if s.real {
		of = slices.Concat(of, realMakers())
	}
	for _, i := range s.rand.Perm(len(of)) {
		if !s.fits(of[i]) {
			continue
		}
		steps := of[i].steps(s, c)
		for n := range steps {
			steps[n].Name = of[i].name
		}
		if len(steps) > 0 {
			return steps
		}
	}
	return nil
}

// triggerAt returns a trigger that fires when client c reaches the point p of an iteration, such as the grant. The
// iteration is one of the client's first three, chosen at random.
func (s *scene) triggerAt(c int32, p workloads.Point) faults.Trigger {
	return faults.Trigger{At: workloads.Moment{Client: c, Iteration: s.iteration(), Point: p}}
}

// StepNames returns the sorted names of all faults that an explored fault plan can contain.
func StepNames() []string {
	var all []string
	for _, m := range slices.Concat(makers(), realMakers(), commandMakers()) {
		all = append(all, m.name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
