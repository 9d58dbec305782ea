package faults

// lostReply drops a reply and closes the connection. The client then knows that the outcome of its request is unknown.
var lostReply = Fault{
	Name: "lost-reply", Kind: Network,
	Doc:  "the reply to an acquire is lost and the connection closed: the lock is taken, and the client does not know",
	Plan: func(s Scene) Plan { return losing(s, false) },
}

// lostReplySilent drops a reply but keeps the connection open. The client then waits until the request times out.
var lostReplySilent = Fault{
	Name: "lost-reply-silent", Kind: Network,
	Doc:  "the reply to an acquire is lost, and the connection stays open without another reply",
	Plan: func(s Scene) Plan { return losing(s, true) },
}

func losing(s Scene, silent bool) Plan {
	return Plan{Gates: gatesAfterAcquire(s), Steps: []Step{
		{When: whenAnswered(), Do: Action{Verb: Lose, Client: victim, Process: victimProcess, Silent: silent}}}}
}
