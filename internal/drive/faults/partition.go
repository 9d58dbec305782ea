package faults

// partition: the holder can neither renew nor release, and works on.
var partition = Fault{
	Name: "partition", Kind: Network,
	Doc: "a holder's process is cut off from the server (or two of five) for longer than the lease",
	Plan: func(s Scene) Plan {
		return once(s, Step{When: upon(), Do: Action{Verb: Cut, Process: victimProcess, Nodes: minority(s)}, For: beyond(s)})
	},
}

// partitionOneWay: what the holder asks is done, and it does not know.
var partitionOneWay = Fault{
	Name: "partition-one-way", Kind: Network,
	Doc: "the server executes the commands of a holder's process and its replies are lost, for longer than the lease",
	Plan: func(s Scene) Plan {
		return once(s, Step{When: upon(), Do: Action{Verb: Cut, Process: victimProcess, Nodes: minority(s), OneWay: true}, For: beyond(s)})
	},
}

// minority are as many servers as a lock may do without, or the only one.
func minority(s Scene) []int {
	switch s.Servers() {
	case 1:
		return []int{0}
	case 3:
		return []int{2}
	}
	return []int{3, 4}
}
