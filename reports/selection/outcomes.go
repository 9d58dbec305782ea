package selection

import (
	"lockbench/internal/choose/decision"
	"lockbench/reports/format"
)

// look is how something is shown: a symbol, a word and a class for its colour, so that colour is never alone.
type look struct{ Symbol, Word, Class string }

func lookOfOutcome(o decision.Outcome) look {
	switch o {
	case decision.OneLock:
		return look{"✓", "One option is ahead", "good"}
	case decision.ATie:
		return look{"≈", "A tie", "unsure"}
	case decision.NoLockNeeded:
		return look{"◇", "No lock is needed", "good"}
	case decision.NothingFits:
		return look{"✗", "Nothing fits", "bad"}
	}
	return look{"?", "Not decided", "unsure"}
}

func lookOfAnswer(a decision.Answer) look {
	switch a {
	case decision.Yes:
		return look{"✓", "yes", "good"}
	case decision.No:
		return look{"✗", "no", "bad"}
	}
	return look{"?", "unknown", "unsure"}
}

// headline is the recommendation in as few words as it can be said in; the sentence below it has the conditions.
func headline(d decision.Decision) string {
	names := format.Joined(d.Recommended)
	switch {
	case d.Outcome == decision.NothingFits:
		return "Nothing that was looked at does all that is needed"
	case names == "":
		return "No recommendation"
	case d.Outcome == decision.ATie:
		return "A tie: " + names + " cannot be told apart"
	case d.Outcome == decision.NoLockNeeded:
		return "No lock is needed: " + names + " will do"
	}
	return "Choose " + names
}

// helpOfTag says what a tag means.
func helpOfTag(t decision.Tag) string {
	switch t {
	case decision.Measured:
		return "it was observed by lockbench; the ids lead to the runs"
	case decision.Documented:
		return "its own table, or its makers, say so"
	case decision.Assumed:
		return "it rests on what the team said, or on a default"
	}
	return "nothing is known: it never counts as a yes"
}

// tags are all of them, from the strongest to the weakest.
func tags() []decision.Tag {
	return []decision.Tag{decision.Measured, decision.Documented, decision.Assumed, decision.Unknown}
}
