package faults

// lostReply: the connection is closed, so that the client knows that it does not know.
var lostReply = Fault{
	Name: "lost-reply", Kind: Network,
	Doc:  "the reply to an acquire is lost and the connection closed: the lock is taken, and the client does not know",
	Plan: func(s Scene) Plan { return losing(s, false) },
}

// lostReplySilent: the connection stays open: the client waits until its own timeout.
var lostReplySilent = Fault{
	Name: "lost-reply-silent", Kind: Network,
	Doc:  "the reply to an acquire is lost, and the connection stays open without another reply",
	Plan: func(s Scene) Plan { return losing(s, true) },
}

func losing(s Scene, silent bool) Plan {
	return Plan{Gates: afterFirst(s), Steps: []Step{
		{When: uponAnswer(), Do: Action{Verb: Lose, Client: victim, Process: victimProcess, Silent: silent}}}}
}
