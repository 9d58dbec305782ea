package serve

import (
	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// state is what became of something: a symbol, a word and a colour, each of which says it alone.
type state struct {
	Class, Symbol, Word string
}

func kept() state        { return state{"score-kept", "✓", "kept"} }
func broken() state      { return state{"score-broken", "✗", "broken"} }
func missed() state      { return state{"score-missed", "!", "missed"} }
func undecided() state   { return state{"score-undecided", "?", "undecided"} }
func measured() state    { return state{"score-measured", "·", "measured"} }
func running() state     { return state{"score-running", "▶", "running"} }
func interrupted() state { return state{"score-interrupted", "■", "interrupted"} }
func stopped() state     { return state{"score-interrupted", "■", "stopped"} }
func withheld() state    { return state{"score-undecided", "?", "withheld"} }
func advised() state     { return state{"score-kept", "✓", "advised"} }
func unreadable() state  { return state{"score-undecided", "?", "unreadable"} }
func unreported() state  { return state{"score-undecided", "?", "no results"} }
func waiting() state     { return state{"score-measured", "·", "waiting"} }
func void() state        { return state{"score-undecided", "–", "void"} }

// scored is a score in our words.
func scored(s checker.Score) state {
	switch s {
	case checker.Kept:
		return kept()
	case checker.Caught:
		return state{"score-caught", "◉", "caught"}
	case checker.Broken:
		return broken()
	case checker.Missed:
		return missed()
	case checker.LeftUndecided:
		return undecided()
	}
	return measured()
}

// tallied is the gravest of what a run found.
func tallied(t run.Tally) state {
	switch {
	case t.Broken > 0:
		return broken()
	case t.Missed > 0:
		return missed()
	case t.Undecided > 0:
		return undecided()
	case t.Kept > 0 || t.Caught > 0:
		return kept()
	}
	return measured()
}

// benched is what a bench came to: without figures where a control failed, broken where a lock was that should not be.
func benched(withheldFor []string, rows []bench.Row) state {
	for _, row := range rows {
		if row.Unsafe != nil && !row.Unsafe.Expected {
			return broken()
		}
	}
	if len(withheldFor) > 0 {
		return withheld()
	}
	return measured()
}

// decided is what an advice came to.
func decided(o selection.Outcome) state {
	switch o {
	case selection.OneLock:
		return advised()
	case selection.NoLockNeeded:
		return state{"score-kept", "✓", "no lock needed"}
	case selection.ATie:
		return state{"score-undecided", "=", "a tie"}
	case selection.NothingFits:
		return state{"score-broken", "✗", "nothing fits"}
	}
	return undecided()
}

// scoresByGravity is the order in which verdicts are told.
func scoresByGravity() []checker.Score {
	return []checker.Score{checker.Broken, checker.Missed, checker.LeftUndecided, checker.Caught, checker.Kept, checker.Measured}
}
