package faults

import "lockbench/workloads"

// delayedRelease is a release that was right when it was sent and arrives when its lease is over.
func delayedRelease() Fault {
	return Fault{
		Name: "delayed-release", Kind: Network,
		Doc: "the command that frees the key arrives half a lease after the lease is over",
		Plan: func(s Scene) Plan {
			frees := Trigger{At: workloads.Moment{Client: victim, Point: workloads.Releasing},
				On: &Passing{Process: victimProcess, Commands: []string{"DEL", "UNLINK", "EVAL", "EVALSHA"}, Nth: 1}}
			return once(s, Step{When: frees, Do: Action{Verb: Delay, Client: victim, Process: victimProcess, By: s.TTL * 3 / 4}, For: s.TTL * 3 / 4})
		},
	}
}
