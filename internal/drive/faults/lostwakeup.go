package faults

import "lockbench/impls"

// lostWakeup drops notifications. Publish/subscribe does not guarantee their delivery.
var lostWakeup = Fault{
	Name: "lost-wakeup", Kind: Network,
	Doc:  "notifications to waiters are lost",
	Only: func(l impls.Impl) string { return reasonUnless(l.Notifies, "its waiters poll and are never notified") },
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Mute, Process: -1}}}}
	},
}
