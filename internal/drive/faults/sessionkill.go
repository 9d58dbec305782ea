package faults

import "lockbench/impls"

// sessionKill: an administrator, a limit or a proxy ends it. The lock is gone, and its holder has to notice.
var sessionKill = Fault{
	Name: "session-kill", Kind: Servers, Only: canBeUnseated,
	Doc: "the server ends the session that holds the lock, while its client works on",
	Plan: func(s Scene) Plan {
		return once(s, Step{When: Trigger{At: atWork(victim)}, Do: Action{Verb: Unseat, Nodes: []int{0}}})
	},
}

func canBeUnseated(l impls.Impl) string {
	if l.Store == "zookeeper" {
		return "its server has no command that ends a session"
	}
	return needsSession(l)
}
