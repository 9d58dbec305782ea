package explore

import (
	"slices"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// follows reports whether the clients of a trial have at least one of the habits.
func follows(t sim.Trial, habits ...workloads.Habit) bool {
	if !t.Workload.Varied {
		return false
	}
	have := t.Params.Follows(workloads.HabitsOf(t.Lock))
	return slices.ContainsFunc(habits, func(h workloads.Habit) bool { return slices.Contains(have, h) })
}

// resembles returns the names of the faults that the clients' use of the lock resembles. If clients hold a lock that
// renews for longer than its lease, this is holder-stall.
func resembles(t sim.Trial) []string {
	beyond := t.Params.Hold > t.Params.TTL*9/10 || follows(t, workloads.HoldsLong)
	if beyond && (t.Lock.Renews || t.Lock.Session) {
		return []string{"holder-stall"}
	}
	return nil
}

// expected returns the expectation for a property under a fault. If the lock states none, Expected is
// histories.Unspecified.
func expected(t sim.Trial, fault, property string) impls.Expectation {
	if !t.Workload.Varied {
		return stated(t, impls.Situation{Workload: t.Workload.Name, Special: t.Workload.Special, Fault: fault}, property)
	}
	ordinary := impls.Situation{Workload: "counter", Fault: fault}
	if follows(t, workloads.Nests) {
		ordinary.Workload = "reentrant"
	}
	e := stated(t, ordinary, property)
	if t.Lock.Control && e.Expected == histories.ToHold && follows(t, workloads.Nests) && follows(t, workloads.VariesLease) {
		e.Expected = histories.Unspecified // a known-broken lock states nothing about nested leases of different lengths
	}
	if !follows(t, workloads.ReleasesTwice, workloads.ReleasesEarlier, workloads.ReleasesLate) {
		return e
	}
	mistaken := stated(t, impls.Situation{Workload: "misuse", Special: true, Fault: "none"}, "owner-release")
	switch {
	case property == "owner-release" && e.Expected == histories.Unspecified && stated(t, ordinary, "lease-exclusion").Expected == histories.ToHold:
		return mistaken // a fault that keeps the server's data does not change the expectation about mistaken releases
	case property != "owner-release" && mistaken.Expected != histories.ToHold && e.Expected == histories.ToHold:
		e.Expected = histories.Unspecified // a mistaken release may end another client's hold
	}
	return e
}

// unlinksBoth reports whether a step stops the replication to both replicas. It then makes no difference which one is promoted.
func unlinksBoth(s faults.Step) bool { return s.Do.Verb == faults.Unlink && len(s.Do.Nodes) > 1 }

// stated returns the lock's expectation for a property in a situation.
func stated(t sim.Trial, s impls.Situation, property string) impls.Expectation {
	s.Deployment, s.Processes = t.On(), t.Params.Processes
	if s.Fault == "failover" && s.Deployment == servers.TwoReplicas && slices.ContainsFunc(t.Plan.Steps, unlinksBoth) {
		s.Deployment = servers.Replica
	}
	all := t.Lock.Expected(s)
	i := slices.IndexFunc(all, func(e impls.Expectation) bool { return e.Property == property })
	if i < 0 {
		return impls.Expectation{Property: property, Expected: histories.Unspecified}
	}
	return all[i]
}
