package faults

import (
	"time"

	"lockbench/workloads"
)

// delayedRelease delays the release command of a holder that released in time. The command arrives after the lease has
// expired.
var delayedRelease = Fault{
	Name: "delayed-release", Kind: Network,
	Doc: "the command that frees the key arrives a third of a lease after the lease expired",
	Plan: func(s Scene) Plan {
		frees := Trigger{At: workloads.Moment{Client: victim, Point: workloads.Releasing},
			On: &Passing{Process: victimProcess, Commands: []string{"DEL", "UNLINK", "EVAL", "EVALSHA"}, Nth: 1}}
		return aroundFirstHold(s, Step{When: frees, Do: Action{Verb: Delay, Client: victim, Process: victimProcess, By: releaseDelay(s)}, For: releaseDelay(s)})
	},
}

// releaseDelay returns how long a release is delayed. When the release arrives, the lease has expired and the next holder is
// still working. The delay leaves a margin for slow machines.
func releaseDelay(s Scene) time.Duration { return s.TTL * 3 / 5 }
