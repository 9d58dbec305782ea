package faults

import (
	"lockbench/impls"
	"lockbench/workloads"
)

// processPause pauses the holder's process, as a garbage collection or a suspended machine does. Both the work and the
// renewals stop.
var processPause = Fault{
	Name: "process-pause", Kind: Clients,
	Doc: "the process of a holder is paused for one and a half times its lease, then resumed",
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: Trigger{At: working(victim)}, Do: Action{Verb: Pause, Process: victimProcess}, For: longerThanLease(s)})
	},
}

// pauseBeforeAnswer pauses a process before it reads the reply to its acquire. When the process reads the reply, the lease has
// already expired. The fault tests whether the lock checks this.
var pauseBeforeAnswer = Fault{
	Name: "pause-before-answer", Kind: Clients,
	Doc: "the process is paused while its acquire is answered, and reads the grant after the lease has expired",
	Plan: func(s Scene) Plan {
		p := aroundFirstHold(s, Step{When: whenAnswered(), Do: Action{Verb: Pause, Process: victimProcess}, For: longerThanLease(s)})
		p.Gates[0].Timeout = s.TTL / 4
		return p
	},
}

// pauseInRelease affects locks that release with two commands: a comparison and a deletion. The process is paused between the
// two commands. Meanwhile the key may change.
var pauseInRelease = Fault{
	Name: "pause-in-release", Kind: Clients,
	Doc:  "the process is paused between the comparison and the deletion of its release",
	Only: func(l impls.Impl) string { return reasonUnless(l.TwoStepRelease, "its release is one command") },
	Plan: func(s Scene) Plan {
		second := Trigger{At: workloads.Moment{Client: victim, Point: workloads.Releasing},
			On: &Passing{Process: victimProcess, Commands: []string{"GET"}, Nth: 1, Reply: true}}
		return aroundFirstHold(s, Step{When: second, Do: Action{Verb: Pause, Process: victimProcess}, For: releaseDelay(s)})
	},
}
