package explore

import (
	"slices"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
)

// kinds returns the built-in faults that correspond to a step. A property is expected to hold under the step if it is
// expected to hold under each of these faults. If kinds returns no fault, nothing is expected.
func kinds(s faults.Step, t sim.Trial) []string {
	late := func(d time.Duration, names ...string) []string {
		if t.Workload.Reentrant { // a holder that acquires again waits for the reply, and its lease may expire meanwhile
			names = append(names, "process-pause")
		}
		if d > t.Params.TTL/4 { // the client may read a grant after its lease expired
			names = append(names, "pause-before-answer")
		}
		return names
	}
	several := faults.Scene{Deployment: t.On()}.Servers() > 1
	switch s.Do.Verb {
	case faults.GiveUp:
		return late(s.Do.By, "cancelled-acquire") // the delayed reply may belong to a later acquire, which is not cancelled
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
			return []string{"minority-down"} // minority-down lasts until the server has restarted
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

// kindsOf holds the built-in faults for steps whose verb alone determines them.
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

// decides reports whether a trial under a fault plan can decide a property. It cannot decide a property with a time limit if
// the plan delays clients or extends leases.
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
			case faults.GiveUp: // the late reply may delay a waiting client
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

// safety lists the properties that hold under a combination of faults if they hold under each of them. Properties with a
// time limit are not included: two faults together may leave no majority of servers, although each alone does.
var safety = []string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "owner-release", "fencing", "reentrancy", "renewal"}

// expectations returns the expectations under a plan of several faults. A property is expected to hold if it is
// expected to hold without a fault and under each fault of the plan.
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
		case histories.ToBeViolated: // this plan may or may not cause the violation
			all = append(all, histories.Expectation{Property: property, Because: worst.Because})
		}
	}
	return all
}

// forgetsAndSetsClocks reports whether a plan both makes a server lose data and changes a clock. A lock that derives fencing
// tokens from the clock after losing its counter tolerates either, but not both together.
func forgetsAndSetsClocks(p faults.Plan) bool {
	does := func(verbs ...faults.Verb) bool {
		return slices.ContainsFunc(p.Steps, func(s faults.Step) bool { return slices.Contains(verbs, s.Do.Verb) })
	}
	return does(faults.Restart, faults.Unlink, faults.Failover, faults.Evict) && does(faults.Jump, faults.Drift)
}

// expected returns the expectation for a property under a fault; it is unspecified if the lock does not state one.
func expected(t sim.Trial, fault, property string) impls.Expectation {
	all := t.Lock.Expected(impls.Situation{Workload: t.Workload.Name, Special: t.Workload.Special, Fault: fault, Deployment: t.On(), Processes: t.Params.Processes})
	i := slices.IndexFunc(all, func(e impls.Expectation) bool { return e.Property == property })
	if i < 0 {
		return impls.Expectation{Property: property, Expected: histories.Unspecified}
	}
	return all[i]
}

// applies reports whether a fault can be injected into a lock. If it cannot, the lock states no expectation under the fault.
func applies(fault string, t sim.Trial) bool {
	all := faults.All()
	i := slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == fault })
	return i >= 0 && all[i].NotFor(t.Lock) == ""
}
