package faults

// partition cuts the network between the holder and the servers. The holder continues to work, but cannot renew or
// release.
var partition = Fault{
	Name: "partition", Kind: Network,
	Doc: "a holder's process is cut off from the server (or two of five) for longer than the lease",
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: whenGranted(), Do: Action{Verb: Cut, Process: victimProcess, Nodes: minority(s)}, For: longerThanLease(s)})
	},
}

// partitionOneWay drops replies to the holder. The server still executes the holder's commands.
var partitionOneWay = Fault{
	Name: "partition-one-way", Kind: Network,
	Doc: "the server executes the commands of a holder's process and its replies are lost, for longer than the lease",
	Plan: func(s Scene) Plan {
		return aroundFirstHold(s, Step{When: whenGranted(), Do: Action{Verb: Cut, Process: victimProcess, Nodes: minority(s), OneWay: true}, For: longerThanLease(s)})
	},
}

// minority returns the indexes of the largest minority of the servers, or the index of the only server.
func minority(s Scene) []int {
	switch s.Servers() {
	case 1:
		return []int{0}
	case 3:
		return []int{2}
	}
	return []int{3, 4}
}
