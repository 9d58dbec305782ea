package faults

// lostReply drops a reply and closes the connection, so that the client knows that the outcome is unknown.
var lostReply = Fault{
	Name: "lost-reply", Kind: Network,
	Doc:  "the reply to an acquire is lost and the connection closed: the lock is taken, and the client does not know",
	Plan: func(s Scene) Plan { return losing(s, false) },
}

// lostReplySilent drops a reply but keeps the connection open, so that the client waits until the request times out.
var lostReplySilent = Fault{
	Name: "lost-reply-silent", Kind: Network,
	Doc:  "the reply to an acquire is lost, and the connection stays open without another reply",
	Plan: func(s Scene) Plan { return losing(s, true) },
}

func losing(s Scene, silent bool) Plan {
	return Plan{Gates: gatesAfterAcquire(s), Steps: []Step{
		{When: whenAnswered(), Do: Action{Verb: Lose, Client: victim, Process: victimProcess, Silent: silent}}}}
}
