package explore

import (
	"slices"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// kinds returns the names of the built-in faults that correspond to a step of a fault plan. A property is expected to
// hold under the step if it is expected to hold under each of these faults. If kinds returns no names, no property has
// an expectation under the step.
func kinds(s faults.Step, t sim.Trial) []string {
	late := func(d time.Duration, names ...string) []string {
		if t.Workload.Reentrant || follows(t, workloads.Nests, workloads.TriesHeld, workloads.HoldsTwo) { // the holder's lease may expire while it waits for its second acquire
			names = append(names, "process-pause")
		}
		if d > t.Workload.LeastLease(t.Lock, t.Params)/4 { // the reply to an acquire may arrive after the lease has expired
			names = append(names, "pause-before-answer")
		}
		return names
	}
	several := faults.Scene{Deployment: t.On()}.Servers() > 1
	switch s.Do.Verb {
	case faults.GiveUp:
		return late(s.Do.By, "cancelled-acquire") // the delayed reply may answer a later acquire that is not cancelled
	case faults.Interrupt:
		return late(s.Do.By, "delayed-release", "lost-reply")
	case faults.ReadOnly, faults.Full:
		return late(s.For, "partition") // a server that refuses writes affects a client as an unreachable server does
	case faults.Empty:
		switch {
		case t.On() == "five-delayed", t.On() == servers.Durable: // the servers are empty at once; these deployments require a delay, or that data is kept
			return nil
		case several:
			return []string{"node-restart"}
		}
		return []string{"server-restart"}
	case faults.Delay:
		return late(s.Do.By, "delayed-release", "slow-network")
	case faults.Slow:
		return late(2*s.Do.By, "slow-network")
	case faults.Lose:
		if s.Do.Silent {
			return late(time.Hour, "lost-reply-silent")
		}
		return []string{"lost-reply"}
	case faults.Cut:
		if s.Do.OneWay {
			return late(s.For, "partition-one-way")
		}
		return late(s.For, "partition")
	case faults.Restart:
		if s.Do.Keeps && !several {
			return late(s.Do.By, "partition")
		}
		return restarted(s.Do.Keeps, several)
	case faults.Freeze:
		return late(s.For, "server-pause")
	case faults.Unseat:
		if s.Do.Waiter {
			return nil // no built-in fault affects a waiter; see implied
		}
	case faults.Jump, faults.Drift, faults.ClientJump, faults.ClientDrift:
		return clockKinds(s.Do, t)
	}
	return kindsOf[s.Do.Verb]
}

// allowedDrift is the time per second that the clock of a server may gain if a grant promises 1 % less than its lease. The judge
// subtracts 1 % of the promise too.
const allowedDrift = 19 * time.Millisecond

// clockKinds returns the names of the built-in faults that correspond to a change of the clocks of servers or of a client.
func clockKinds(a faults.Action, t sim.Trial) []string {
	switch {
	case faults.MovesClientClock(a.Verb) && a.By < 0:
		return []string{"client-clock-back"}
	case faults.MovesClientClock(a.Verb):
		return []string{"client-clock-forward"}
	case a.By < 0:
		return []string{"clock-back"}
	case a.Verb == faults.Drift && t.Lock.AllowsDrift && a.By <= allowedDrift:
		return []string{"none"}
	}
	return []string{"clock-forward"}
}

// restarted returns the names of the built-in faults that correspond to a restart.
func restarted(keeps, several bool) []string {
	switch {
	case keeps:
		return []string{"minority-down"} // a server that keeps its data is only down for a while
	case several:
		return []string{"node-restart"}
	}
	return []string{"server-restart"}
}

// kindsOf maps a kind of fault action to the names of the corresponding built-in faults. It omits actions for which
// other fields of the step matter too.
var kindsOf = map[faults.Verb][]string{
	faults.Stall:    {"holder-stall"},
	faults.Pause:    {"process-pause", "pause-before-answer", "pause-in-release"},
	faults.Kill:     {"holder-kill", "kill-between"},
	faults.Exit:     {"holder-kill"},
	faults.Abandon:  {"holder-abandon"},
	faults.Mute:     {"lost-wakeup"},
	faults.Down:     {"minority-down"},
	faults.Unlink:   {"failover"},
	faults.Failover: {"failover"},
	faults.Evict:    {"eviction"},
	faults.Reset:    {"lost-reply", "lost-wakeup"},
	faults.Unseat:   {"session-kill"},
	faults.Depose:   {"leader-loss"},

	faults.ForgetScripts: {"lost-reply"}, // if a lock does not send its script again, its request has an unknown outcome
}

// decides reports whether a trial under the fault plan can decide the property. For example, if the plan delays
// clients, a trial cannot decide a property with a time limit.
func decides(p faults.Plan, property string) bool {
	for _, s := range p.Steps {
		switch property {
		case "no-orphan":
			late := s.Do.Verb == faults.Slow && s.Do.By > ttl/3 // a request in flight may be granted after the last client has finished
			if late || s.Do.Verb == faults.Drift || s.Do.Verb == faults.Jump {
				return false
			}
		case "progress", "recovery":
			switch s.Do.Verb {
			case faults.Stall, faults.Kill, faults.Exit, faults.Abandon, faults.Mute, faults.Evict, faults.Failover, faults.Reset, faults.Empty, faults.ForgetScripts:
			case faults.GiveUp, faults.Interrupt: // a late reply to a cancelled operation may delay a waiting client
				if s.Do.By > ttl/2 {
					return false
				}
			case faults.Lose:
				if s.Do.Silent {
					return false
				}
			case faults.Restart:
				if s.Do.By > 0 {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// safety lists properties without a time limit. If they hold under each of several faults alone, they also hold under
// all of them together. This is not true of properties with a time limit. For example, two faults that each stop one
// server may together leave no majority.
var safety = []string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "owner-release", "fencing", "reentrancy", "renewal",
	"truthful-answer"}

// expectations returns the expectations for a trial with a generated fault plan. A property is expected to hold if the
// lock states so without faults, for each fault of the plan, and for each fault that the clients' habits resemble. If
// the plan has only one step, properties with a time limit may have expectations too.
func expectations(t sim.Trial) []histories.Expectation {
	var all []histories.Expectation
	for _, property := range safety {
		all = append(all, judged(t, property, expected(t, "none", property))...)
	}
	if !t.Lock.Control && t.Lock.Program == nil { // without a lease, a release that was cut off at the end leaves the key
		all = append(all, judged(t, "no-orphan", expected(t, "none", "no-orphan"))...)
	}
	if t.Lock.Extends && !t.Lock.Renews && implied(t, "renewal") {
		all = append(all, histories.Expectation{Property: "renewal", Expected: histories.ToHold, Because: "a renewal on request extends only the hold of its owner"})
	}
	ours := t.Lock.Program == nil && !t.Lock.ThirdParty
	for _, property := range excusing {
		if slices.Contains(reconnecting, property) && !ours && hasVerb(t.Plan, faults.Reset) {
			continue
		}
		if e := expected(t, "none", property); e.Expected == histories.ToHold {
			all = append(all, histories.Expectation{Property: property, Expected: e.Expected, Because: e.Because})
		}
	}
	if len(t.Plan.Steps) != 1 {
		return all
	}
	for _, property := range timed {
		if names := kinds(t.Plan.Steps[0], t); decides(t.Plan, property) && len(names) > 0 {
			e := expected(t, names[0], property)
			if e.Because == "" && implied(t, property) {
				e = expected(t, "none", property)
			}
			all = append(all, judged(t, property, e)...)
		}
	}
	return all
}

// excusing lists the properties that by definition tolerate the delays of a fault. If they are expected to hold without
// faults, they are expected to hold under any faults.
var excusing = []string{"prompt-hand-off", "wait-honoured", "responsive", "abandoned-acquire", "loss-notice", "backed-promise"}

// reconnecting lists the properties that a library may violate while it connects again after a reset. A delay of seconds is usual.
var reconnecting = []string{"prompt-hand-off", "wait-honoured", "loss-notice"}

// judged returns the expectation for a property. The parameter worst is its expectation without faults. If the lock
// states none for a fault of the plan, judged returns nothing. If the lock is expected to violate the property under one
// of the faults, a violation is possible but not certain.
func judged(t sim.Trial, property string, worst impls.Expectation) []histories.Expectation {
	because := worst.Because
	names := resembles(t)
	for _, s := range t.Plan.Steps {
		of := kinds(s, t)
		if len(of) == 0 && !implied(t, property) {
			worst.Expected = histories.Unspecified
		}
		names = append(names, of...)
	}
	for _, name := range names {
		e := expected(t, name, property)
		if e.Because == "" && implied(t, property) {
			continue // the lock states nothing for this fault, and the property does not depend on such faults
		}
		if applies(name, t) && (e.Expected == histories.ToBeViolated || e.Expected != histories.ToHold && worst.Expected == histories.ToHold) {
			worst = e
		}
	}
	if forgetsAndSetsClocks(t.Plan) && (property == "fencing" || property == "resource-integrity") {
		worst.Expected = histories.Unspecified
	}
	if slices.Contains([]string{"lease-exclusion", "mutual-exclusion", "resource-integrity"}, property) && endsSessions(t) {
		worst.Expected = histories.Unspecified // the lock is free before the holder detects the end of its session
	}
	if property == "resource-integrity" && !t.Lock.Fences && slices.ContainsFunc(t.Plan.Steps, endsHolder) {
		worst.Expected = histories.Unspecified // the holder notices the end of its session before it writes only if it works for long enough
	}
	switch worst.Expected {
	case histories.ToHold:
		return []histories.Expectation{{Property: property, Expected: histories.ToHold, Because: because}}
	case histories.ToBeViolated:
		return []histories.Expectation{{Property: property, Because: worst.Because}}
	}
	return nil
}

// timed lists the properties with a time limit. They have expectations only in a plan of one step.
var timed = []string{"progress", "recovery"}

// forgetsAndSetsClocks reports whether, under the plan, a server may lose data and a clock changes. A lock may take
// fencing tokens from the clock after its counter was lost. This works under one of the two faults, but not under both.
func forgetsAndSetsClocks(p faults.Plan) bool {
	return hasVerb(p, faults.Restart, faults.Unlink, faults.Failover, faults.Evict, faults.Empty) && hasVerb(p, faults.Jump, faults.Drift)
}

// hasVerb reports whether a plan has an action of one of the kinds.
func hasVerb(p faults.Plan, verbs ...faults.Verb) bool {
	return slices.ContainsFunc(p.Steps, func(s faults.Step) bool { return slices.Contains(verbs, s.Do.Verb) })
}

// applies reports whether the fault can be injected into the lock. For other faults, locks state no expectation.
func applies(fault string, t sim.Trial) bool {
	all := faults.All()
	i := slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == fault })
	return i >= 0 && all[i].NotFor(t.Lock) == ""
}
