package faults

import (
	"lockbench/impls"
	"lockbench/workloads"
)

// processPause is a process that stands still for longer than its lease lasts: a garbage collection, a
// suspended machine. Nothing in it runs, neither the work nor a watchdog, and nothing in it knows.
var processPause = Fault{
	Name: "process-pause", Kind: Clients,
	Doc: "the process of a holder is stopped for half as long again as its lease lasts, then goes on",
	Plan: func(s Scene) Plan {
		return once(s, Step{When: Trigger{At: atWork(victim)}, Do: Action{Verb: Pause, Process: victimProcess}, For: beyond(s)})
	},
}

// pauseBeforeAnswer pauses the process with the grant on its way: it reads the answer after the lease has expired, and
// only a lock that looks at the time then can know.
var pauseBeforeAnswer = Fault{
	Name: "pause-before-answer", Kind: Clients,
	Doc: "the process is stopped while its acquire is being answered, and reads the grant when its lease is over",
	Plan: func(s Scene) Plan {
		p := once(s, Step{When: uponAnswer(), Do: Action{Verb: Pause, Process: victimProcess}, For: beyond(s)})
		p.Gates[0].Patience = s.TTL / 4
		return p
	},
}

// pauseInRelease pauses the process between the commands of a release that takes two: what was compared may have changed
// when the process resumes and deletes.
var pauseInRelease = Fault{
	Name: "pause-in-release", Kind: Clients,
	Doc:  "the process is stopped between the comparison and the deletion of its release",
	Only: func(l impls.Impl) string { return unless(l.TwoStepRelease, "its release is one command") },
	Plan: func(s Scene) Plan {
		second := Trigger{At: workloads.Moment{Client: victim, Point: workloads.Releasing},
			On: &Passing{Process: victimProcess, Commands: []string{"GET"}, Nth: 1, Reply: true}}
		return once(s, Step{When: second, Do: Action{Verb: Pause, Process: victimProcess}, For: overdue(s)})
	},
}
