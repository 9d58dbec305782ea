package faults

import "time"

// clockBack sets the server's clock back by a minute and then kills the holder. Every lease, including the holder's,
// lasts a minute longer.
var clockBack = Fault{
	Name: "clock-back", Kind: Servers,
	Doc:   "the clock of the server is set back by a minute, and the holder dies",
	Shape: untilFreed,
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s,
			Step{When: whenGranted(), Do: Action{Verb: Jump, Nodes: []int{0}, By: -time.Minute}},
			Step{When: whenGranted(), Do: Action{Verb: Kill, Process: victimProcess}})
	},
}
