package workloads

import (
	"lockbench/histories"
	"lockbench/impls"
)

// Claims are what a lock is expected to do in a workload, under a fault, as its histories say it. What breaks only
// where clients meet is open where there is but one.
func Claims(lock impls.Impl, w Workload, fault, deployment string, p Params) []histories.Claim {
	var claims []histories.Claim
	for _, e := range lock.Expected(impls.Situation{Workload: w.Name, Special: w.Special, Fault: fault, Deployment: deployment, Processes: p.Processes}) {
		claim := histories.Claim{Property: e.Property, Because: e.Because}
		if e.Verdict != histories.Breaks || p.Clients > 1 {
			claim.Expected = e.Verdict
		}
		claims = append(claims, claim)
	}
	return claims
}
