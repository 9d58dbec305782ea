package faults

import "lockbench/impls"

// lostWakeup: pub/sub promises nothing.
var lostWakeup = Fault{
	Name: "lost-wakeup", Kind: Network,
	Doc:  "notifications to waiters are lost",
	Only: func(l impls.Impl) string { return unless(l.Notifies, "its waiters poll and are never notified") },
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Mute, Process: -1}}}}
	},
}
