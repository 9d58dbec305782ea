package faults

import "lockbench/impls"

// sessionKill ends the session of a holder, as an administrator, a limit or a proxy does. The lock becomes free, and the
// holder has to notice this.
var sessionKill = Fault{
	Name: "session-kill", Kind: Servers, Only: needsEndableSession,
	Doc: "the server ends the session that holds the lock, while its client works on",
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: Trigger{At: working(victim)}, Do: Action{Verb: Unseat, Nodes: []int{0}}})
	},
}

func needsEndableSession(l impls.Impl) string {
	if l.Program != nil {
		return "lockbench does not know which session holds the lock of a worker"
	}
	if l.Store == "zookeeper" {
		return "its server has no command that ends a session"
	}
	return needsSession(l)
}
