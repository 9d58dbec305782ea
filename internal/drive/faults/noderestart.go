package faults

import (
	"lockbench/impls"
	"lockbench/workloads"
)

// nodeRestart restarts one server while the lock is granted on only three of five servers. In the deployment
// five-delayed, the server stays down until every lease that it may have forgotten has expired.
var nodeRestart = Fault{
	Name: "node-restart", Kind: Servers,
	Doc:  "one of the majority that granted restarts empty while the lock is held",
	Only: severalServers,
	Plan: func(s Scene) Plan {
		away := Action{Verb: Restart, Nodes: []int{0}}
		step := Step{When: whenGranted(), Do: away}
		if s.Deployment == "five-delayed" {
			step.Do.By, step.For = s.TTL*5/4, s.TTL*5/4
		}
		return onBareMajority(s, step)
	},
	Shape: func(p *workloads.Params, s Scene) {
		p.Duration = p.TTL * 4
		if s.Deployment == "five-delayed" {
			p.Think = p.TTL / 4 // every acquire fails at once while the server is away, and too many of them would say nothing about the lock
		}
	},
}

func severalServers(l impls.Impl) string {
	return reasonUnless(l.Deployment == "five", "it has one server")
}
