package faults

import (
	"lockbench/impls"
	"lockbench/workloads"
)

// nodeRestart: two other servers have not heard of the hold. Deployed with delay, the server stays away until every lease
// that it may have forgotten has expired.
var nodeRestart = Fault{
	Name: "node-restart", Kind: Servers,
	Doc:  "one of the majority that granted restarts empty while the lock is held",
	Only: severalServers,
	Plan: func(s Scene) Plan {
		away := Action{Verb: Restart, Nodes: []int{0}}
		step := Step{When: upon(), Do: away}
		if s.Deployment == "five-delayed" {
			step.Do.By, step.For = s.TTL*5/4, s.TTL*5/4
		}
		return barely(s, step)
	},
	Shape: func(p *workloads.Params, s Scene) { p.Duration = p.TTL * 4 },
}

func severalServers(l impls.Impl) string { return unless(l.Deployment == "five", "it has one server") }
