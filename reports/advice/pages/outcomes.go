package pages

import "lockbench/reports/advice"

import "lockbench/reports/words"

// look is how something is shown: a symbol, a word and a class for its colour, so that colour is never alone.
type look struct{ Symbol, Word, Class string }

func lookOfOutcome(o advice.Outcome) look {
	switch o {
	case advice.OneLock:
		return look{"✓", "One option is ahead", "good"}
	case advice.ATie:
		return look{"≈", "A tie", "unsure"}
	case advice.NoLockNeeded:
		return look{"◇", "No lock is needed", "good"}
	case advice.NothingFits:
		return look{"✗", "Nothing fits", "bad"}
	}
	return look{"?", "Not decided", "unsure"}
}

func lookOfAnswer(a advice.Answer) look {
	switch a {
	case advice.Yes:
		return look{"✓", "yes", "good"}
	case advice.No:
		return look{"✗", "no", "bad"}
	}
	return look{"?", "unknown", "unsure"}
}

// headline is the recommendation in as few words as it can be said in; the sentence below it has the conditions.
func headline(d advice.Decision) string {
	names := words.Joined(d.Recommended)
	switch {
	case d.Outcome == advice.NothingFits:
		return "Nothing that was looked at does all that is needed"
	case names == "":
		return "No recommendation"
	case d.Outcome == advice.ATie:
		return "A tie: " + names + " cannot be told apart"
	case d.Outcome == advice.NoLockNeeded:
		return "No lock is needed: " + names + " will do"
	}
	return "Choose " + names
}

// helpOfTag says what a tag means.
func helpOfTag(t advice.Tag) string {
	switch t {
	case advice.Measured:
		return "it was observed by lockbench; the ids lead to the runs"
	case advice.Documented:
		return "its own table, or its makers, say so"
	case advice.Assumed:
		return "it rests on what the team said, or on a default"
	}
	return "nothing is known: it never counts as a yes"
}

// tags are all of them, from the strongest to the weakest.
func tags() []advice.Tag {
	return []advice.Tag{advice.Measured, advice.Documented, advice.Assumed, advice.Unknown}
}
