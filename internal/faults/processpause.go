package faults

// processPause is a process that stands still for longer than its lease lasts: a garbage collection, a
// suspended machine. Nothing in it runs, neither the work nor a watchdog, and nothing in it knows.
func processPause() Fault {
	return Fault{
		Name: "process-pause", Kind: Clients,
		Doc: "the process of a holder is stopped for half as long again as its lease lasts, then goes on",
		Plan: func(s Scene) Plan {
			return once(s, Step{When: upon(), Do: Action{Verb: Pause, Process: victimProcess}, For: beyond(s)})
		},
	}
}
