package faults

import (
	"time"

	"lockbench/workloads"
)

// delayedRelease: a release is right when it is sent, and arrives after its lease has expired.
var delayedRelease = Fault{
	Name: "delayed-release", Kind: Network,
	Doc: "the command that frees the key arrives a third of a lease after the lease expired",
	Plan: func(s Scene) Plan {
		frees := Trigger{At: workloads.Moment{Client: victim, Point: workloads.Releasing},
			On: &Passing{Process: victimProcess, Commands: []string{"DEL", "UNLINK", "EVAL", "EVALSHA"}, Nth: 1}}
		return once(s, Step{When: frees, Do: Action{Verb: Delay, Client: victim, Process: victimProcess, By: overdue(s)}, For: overdue(s)})
	},
}

// overdue is how much later a release comes that was sent when the work was done: its lease is over, and the next
// holder is in the middle of its own work, so that neither a pause seen late nor a slow machine changes the story.
func overdue(s Scene) time.Duration { return s.TTL * 3 / 5 }
