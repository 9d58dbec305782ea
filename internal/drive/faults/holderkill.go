package faults

import (
	"time"

	"lockbench/workloads"
)

// holderKill: what the process held must become free by itself.
var holderKill = Fault{
	Name: "holder-kill", Kind: Clients,
	Doc:   "the process of a holder is killed; other clients keep trying to acquire",
	Shape: untilFreed,
	Plan: func(s Scene) Plan {
		return once(s, Step{When: upon(), Do: Action{Verb: Kill, Process: victimProcess}})
	},
}

// untilFreed makes a trial long enough to see whether a key becomes free within the bound: who asks when the time
// is up goes on asking for the lease and half a second more.
func untilFreed(p *workloads.Params, _ Scene) {
	p.Hold = p.TTL / 4
	p.Duration, p.Grace = p.TTL+800*time.Millisecond, p.TTL+500*time.Millisecond
}
