package faults

// lostReply: the connection is closed, so that the client knows that it does not know.
var lostReply = Fault{
	Name: "lost-reply", Kind: Network,
	Doc:  "the answer to an acquire is lost and its connection closed: the lock was taken, and who asked does not know",
	Plan: func(s Scene) Plan { return losing(s, false) },
}

// lostReplySilent: the connection stays open: the client waits until its own timeout.
var lostReplySilent = Fault{
	Name: "lost-reply-silent", Kind: Network,
	Doc:  "the answer to an acquire is lost, and its connection stays open and says nothing more",
	Plan: func(s Scene) Plan { return losing(s, true) },
}

func losing(s Scene, silent bool) Plan {
	return Plan{Gates: afterFirst(s), Steps: []Step{
		{When: uponAnswer(), Do: Action{Verb: Lose, Client: victim, Process: victimProcess, Silent: silent}}}}
}
