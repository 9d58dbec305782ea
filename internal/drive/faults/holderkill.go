package faults

import (
	"time"

	"lockbench/workloads"
)

// holderKill tests whether the lock of a killed process becomes free.
var holderKill = Fault{
	Name: "holder-kill", Kind: Clients,
	Doc:   "the process of a holder is killed; other clients keep trying to acquire",
	Shape: untilFreed,
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: whenGranted(), Do: Action{Verb: Kill, Process: victimProcess}})
	},
}

// untilFreed makes a trial long enough to observe whether a key becomes free after its holder fails. At the end of the trial,
// waiting clients get another lease plus 500 ms to finish.
func untilFreed(p *workloads.Params, _ Scene) {
	p.Hold = p.TTL / 4
	p.Duration, p.Grace = p.TTL+800*time.Millisecond, p.TTL+500*time.Millisecond
}
