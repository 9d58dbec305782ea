package faults

import "lockbench/impls"

// lostWakeup: pub/sub promises nothing.
var lostWakeup = Fault{
	Name: "lost-wakeup", Kind: Network,
	Doc:  "what is published to waiters is lost",
	Only: func(l impls.Impl) string { return unless(l.Notifies, "nobody is notified: its waiters ask again") },
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Mute, Process: -1}}}}
	},
}
