package faults

import "time"

// slowNetwork delays every command and every reply. It loses none.
var slowNetwork = Fault{
	Name: "slow-network", Kind: Network,
	Doc: "every command and every reply takes 10 ms longer",
	Plan: func(s Scene) Plan {
		return Plan{Steps: []Step{{Do: Action{Verb: Slow, Process: -1, By: 10 * time.Millisecond}}}}
	},
}
