package explore

import (
	"slices"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
)

// kinds returns the names of the built-in faults that correspond to a step of a fault plan. A property is expected to
// hold under the step if it is expected to hold under each of these faults. If kinds returns no names, no property has
// an expectation under the step.
func kinds(s faults.Step, t sim.Trial) []string {
	late := func(d time.Duration, names ...string) []string {
		if t.Workload.Reentrant { // a holder that acquires again waits for the reply, and the holder's lease may expire during this time
			names = append(names, "process-pause")
		}
		if d > t.Params.TTL/4 { // the client may receive the grant after its lease has expired
			names = append(names, "pause-before-answer")
		}
		return names
	}
	several := faults.Scene{Deployment: t.On()}.Servers() > 1
	switch s.Do.Verb {
	case faults.GiveUp:
		return late(s.Do.By, "cancelled-acquire") // the delayed reply may belong to a later acquire that is not cancelled
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
		switch {
		case s.Do.Keeps && several:
			return []string{"minority-down"} // a server that restarts with its data has the same effect as a server that is down for a while
		case s.Do.Keeps:
			return late(s.Do.By, "partition")
		case several:
			return []string{"node-restart"}
		}
		return []string{"server-restart"}
	case faults.Freeze:
		return late(s.For, "server-pause")
	case faults.Jump, faults.Drift:
		if s.Do.By < 0 {
			return []string{"clock-back"}
		}
		return []string{"clock-forward"}
	}
	return kindsOf[s.Do.Verb]
}

// kindsOf maps a kind of fault action to the names of the corresponding built-in faults. It omits the kinds for
// which the names also depend on other fields of the step.
var kindsOf = map[faults.Verb][]string{
	faults.Stall:    {"holder-stall"},
	faults.Pause:    {"process-pause", "pause-before-answer", "pause-in-release"},
	faults.Kill:     {"holder-kill", "kill-between"},
	faults.Abandon:  {"holder-abandon"},
	faults.Mute:     {"lost-wakeup"},
	faults.Down:     {"minority-down"},
	faults.Unlink:   {"failover"},
	faults.Failover: {"failover"},
	faults.Evict:    {"eviction"},
}

// decides reports whether a trial under the fault plan can decide the property. For example, if the plan delays
// clients, a trial cannot decide a property with a time limit.
func decides(p faults.Plan, property string) bool {
	for _, s := range p.Steps {
		switch property {
		case "no-orphan":
			if s.Do.Verb == faults.Drift || s.Do.Verb == faults.Jump {
				return false
			}
		case "progress", "recovery":
			switch s.Do.Verb {
			case faults.Stall, faults.Kill, faults.Abandon, faults.Mute, faults.Evict, faults.Failover:
			case faults.GiveUp: // a late reply to a cancelled acquire may delay a waiting client
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

// safety lists the properties that hold under several faults at once if they hold under each fault alone. It omits
// properties with a time limit. For example, two faults that each stop one server may together leave no majority.
var safety = []string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "owner-release", "fencing", "reentrancy", "renewal",
	"truthful-answer"}

// expectations returns the expectations for a trial whose plan has several faults. A property is expected to hold if
// the lock states so for a trial without faults, and for each fault of the plan.
func expectations(t sim.Trial) []histories.Expectation {
	var all []histories.Expectation
	for _, property := range safety {
		one := histories.Expectation{Property: property, Expected: histories.ToHold}
		worst := expected(t, "none", property)
		one.Because = worst.Because
		for _, s := range t.Plan.Steps {
			names := kinds(s, t)
			if len(names) == 0 {
				worst.Expected = histories.Unspecified
			}
			for _, name := range names {
				e := expected(t, name, property)
				if applies(name, t) && (e.Expected == histories.ToBeViolated || e.Expected != histories.ToHold && worst.Expected == histories.ToHold) {
					worst = e
				}
			}
		}
		if forgetsAndSetsClocks(t.Plan) && (property == "fencing" || property == "resource-integrity") {
			worst.Expected = histories.Unspecified
		}
		switch worst.Expected {
		case histories.ToHold:
			all = append(all, one)
		case histories.ToBeViolated: // the violation is possible, but not certain
			all = append(all, histories.Expectation{Property: property, Because: worst.Because})
		}
	}
	return all
}

// forgetsAndSetsClocks reports whether a plan contains two kinds of faults: a server may lose data, and a clock is
// changed. A lock may take fencing tokens from the clock after its counter was lost. Such a lock tolerates one of
// the two faults, but not both together.
func forgetsAndSetsClocks(p faults.Plan) bool {
	does := func(verbs ...faults.Verb) bool {
		return slices.ContainsFunc(p.Steps, func(s faults.Step) bool { return slices.Contains(verbs, s.Do.Verb) })
	}
	return does(faults.Restart, faults.Unlink, faults.Failover, faults.Evict) && does(faults.Jump, faults.Drift)
}

// expected returns the expectation for a property under a fault. If the lock states none, Expected is
// histories.Unspecified in the result.
func expected(t sim.Trial, fault, property string) impls.Expectation {
	all := t.Lock.Expected(impls.Situation{Workload: t.Workload.Name, Special: t.Workload.Special, Fault: fault, Deployment: t.On(), Processes: t.Params.Processes})
	i := slices.IndexFunc(all, func(e impls.Expectation) bool { return e.Property == property })
	if i < 0 {
		return impls.Expectation{Property: property, Expected: histories.Unspecified}
	}
	return all[i]
}

// applies reports whether the fault can be injected into the lock. Locks state no expectation for a fault that does
// not apply.
func applies(fault string, t sim.Trial) bool {
	all := faults.All()
	i := slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == fault })
	return i >= 0 && all[i].NotFor(t.Lock) == ""
}
