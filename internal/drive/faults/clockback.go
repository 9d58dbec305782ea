package faults

import "time"

// clockBack: leases last longer by as much as the clock is set back, that of a dead holder too.
var clockBack = Fault{
	Name: "clock-back", Kind: Servers,
	Doc:   "the clock of the server is set back by a minute, and the holder dies",
	Shape: untilFreed,
	Plan: func(s Scene) Plan {
		return once(s,
			Step{When: upon(), Do: Action{Verb: Jump, Nodes: []int{0}, By: -time.Minute}},
			Step{When: upon(), Do: Action{Verb: Kill, Process: victimProcess}})
	},
}
