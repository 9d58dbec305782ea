package faults

import (
	"lockbench/impls"
	"lockbench/workloads"
)

// killBetween affects locks that acquire with two commands. The process is killed between the two commands.
var killBetween = Fault{
	Name: "kill-between", Kind: Clients,
	Doc:   "the process of a client is killed between the two commands of its acquire",
	Shape: untilFreed,
	Only:  func(l impls.Impl) string { return reasonUnless(l.TwoSteps, "its acquire is one command") },
	Plan: func(s Scene) Plan {
		second := Trigger{At: workloads.Moment{Client: victim, Point: workloads.Asking},
			On: &Passing{Process: victimProcess, Nth: 2}}
		// The gates delay the other clients until the victim has sent its first command. The first gate waits for a
		// grant to the victim, which is killed before its grant. So this gate opens at its timeout.
		return Plan{
			Gates: []Gate{
				{Client: 1, Until: granted(victim, 0), Timeout: s.TTL / 4},
				{Client: 2, Until: granted(1, 0), Timeout: s.TTL / 2},
			},
			Steps: []Step{{When: second, Do: Action{Verb: Kill, Process: victimProcess}}},
		}
	},
}
