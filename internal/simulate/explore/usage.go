package explore

import (
	"slices"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/simulate/sim"
	"lockbench/workloads"
)

// follows reports whether the clients of a trial have any of the given habits.
func follows(t sim.Trial, habits ...workloads.Habit) bool {
	if !t.Workload.Varied {
		return false
	}
	have := t.Params.Follows(workloads.HabitsOf(t.Lock))
	return slices.ContainsFunc(habits, func(h workloads.Habit) bool { return slices.Contains(have, h) })
}

// shortestLease returns the shortest lease that clients of a trial request.
func shortestLease(t sim.Trial) time.Duration {
	if follows(t, workloads.VariesLease) {
		return t.Params.TTL * workloads.LeastLease / 100
	}
	return t.Params.TTL
}

// resembles returns the names of the faults that the clients' way of using the lock resembles: work that takes longer than
// the lease of a lock that renews.
func resembles(t sim.Trial) []string {
	beyond := t.Params.Hold > t.Params.TTL*9/10 || follows(t, workloads.HoldsLong)
	if beyond && (t.Lock.Renews || t.Lock.Session) {
		return []string{"holder-stall"}
	}
	return nil
}

// expected returns the expectation for a property under a fault. If the lock states none, Expected is
// histories.Unspecified in the result.
func expected(t sim.Trial, fault, property string) impls.Expectation {
	if !t.Workload.Varied {
		return stated(t, impls.Situation{Workload: t.Workload.Name, Special: t.Workload.Special, Fault: fault}, property)
	}
	ordinary := impls.Situation{Workload: "counter", Fault: fault}
	if follows(t, workloads.Nests) {
		ordinary.Workload = "reentrant"
	}
	e := stated(t, ordinary, property)
	if !follows(t, workloads.ReleasesTwice, workloads.ReleasesEarlier, workloads.ReleasesLate) {
		return e
	}
	mistaken := stated(t, impls.Situation{Workload: "misuse", Special: true, Fault: "none"}, "owner-release")
	switch {
	case property == "owner-release" && e.Expected == histories.Unspecified && stated(t, ordinary, "lease-exclusion").Expected == histories.ToHold:
		return mistaken // the expectation about mistaken releases applies under each fault that leaves the server's data intact
	case property != "owner-release" && mistaken.Expected != histories.ToHold && e.Expected == histories.ToHold:
		e.Expected = histories.Unspecified // a mistaken release may end another client's hold
	}
	return e
}

// stated returns the expectation for a property that the lock states for a situation.
func stated(t sim.Trial, s impls.Situation, property string) impls.Expectation {
	s.Deployment, s.Processes = t.On(), t.Params.Processes
	all := t.Lock.Expected(s)
	i := slices.IndexFunc(all, func(e impls.Expectation) bool { return e.Property == property })
	if i < 0 {
		return impls.Expectation{Property: property, Expected: histories.Unspecified}
	}
	return all[i]
}
