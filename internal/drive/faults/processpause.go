package faults

import (
	"lockbench/impls"
	"lockbench/workloads"
)

// processPause: a garbage collection, or a suspended machine. Nothing in the process runs: neither the work nor a watchdog.
var processPause = Fault{
	Name: "process-pause", Kind: Clients,
	Doc: "the process of a holder is paused for one and a half times its lease, then resumed",
	Plan: func(s Scene) Plan {
		return once(s, Step{When: Trigger{At: atWork(victim)}, Do: Action{Verb: Pause, Process: victimProcess}, For: beyond(s)})
	},
}

// pauseBeforeAnswer: only a lock that looks at the time when it reads the answer can know that the lease has expired.
var pauseBeforeAnswer = Fault{
	Name: "pause-before-answer", Kind: Clients,
	Doc: "the process is paused while its acquire is answered, and reads the grant after the lease has expired",
	Plan: func(s Scene) Plan {
		p := once(s, Step{When: uponAnswer(), Do: Action{Verb: Pause, Process: victimProcess}, For: beyond(s)})
		p.Gates[0].Patience = s.TTL / 4
		return p
	},
}

// pauseInRelease: the release takes two commands: what was compared may have changed when the process resumes and deletes.
var pauseInRelease = Fault{
	Name: "pause-in-release", Kind: Clients,
	Doc:  "the process is paused between the comparison and the deletion of its release",
	Only: func(l impls.Impl) string { return unless(l.TwoStepRelease, "its release is one command") },
	Plan: func(s Scene) Plan {
		second := Trigger{At: workloads.Moment{Client: victim, Point: workloads.Releasing},
			On: &Passing{Process: victimProcess, Commands: []string{"GET"}, Nth: 1, Reply: true}}
		return once(s, Step{When: second, Do: Action{Verb: Pause, Process: victimProcess}, For: overdue(s)})
	},
}
