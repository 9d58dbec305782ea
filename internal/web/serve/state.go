package serve

import (
	"fmt"
	"slices"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// state is what became of something: a symbol, a word and a colour, each of which says it alone.
type state = html.Badge

var (
	kept        = state{Class: "score-kept", Symbol: "✓", Word: "kept"}
	caught      = state{Class: "score-caught", Symbol: "◉", Word: "caught"}
	broken      = state{Class: "score-broken", Symbol: "✗", Word: "broken"}
	missed      = state{Class: "score-missed", Symbol: "!", Word: "missed"}
	undecided   = state{Class: "score-undecided", Symbol: "?", Word: "undecided"}
	measured    = state{Class: "score-measured", Symbol: "·", Word: "measured"}
	violated    = state{Class: "score-violated", Symbol: "×", Word: "violated"}
	overlapped  = state{Class: "score-violated", Symbol: "◫", Word: "both inside"}
	faulted     = state{Class: "score-fault", Symbol: "⚡", Word: "fault"}
	running     = state{Class: "score-running", Symbol: "▶", Word: "running"}
	waiting     = state{Class: "score-measured", Symbol: "·", Word: "waiting"}
	begun       = state{Class: "score-measured", Symbol: "◐", Word: "begun"}
	done        = state{Class: "score-measured", Symbol: "✓", Word: "done"}
	interrupted = state{Class: "score-interrupted", Symbol: "■", Word: "interrupted"}
	stopped     = state{Class: "score-interrupted", Symbol: "■", Word: "stopped"}
	void        = state{Class: "score-undecided", Symbol: "–", Word: "void"}
	notJudged   = state{Class: "score-undecided", Symbol: "?", Word: "not judged"}
	withheld    = state{Class: "score-undecided", Symbol: "?", Word: "withheld"}
	unreported  = state{Class: "score-undecided", Symbol: "?", Word: "no results"}
	unreadable  = state{Class: "score-undecided", Symbol: "?", Word: "unreadable"}
)

// scores are what a check comes to, the gravest first.
var scores = []struct {
	score checker.Score
	state state
}{{checker.Broken, broken}, {checker.Missed, missed}, {checker.LeftUndecided, undecided}, {checker.Caught, caught}, {checker.Kept, kept}}

func scored(score checker.Score) state {
	for _, s := range scores {
		if s.score == score {
			return s.state
		}
	}
	return measured
}

// gravest returns the states of a cell's verdicts, each once, the gravest first.
func gravest(rows []run.Observation) (states []state) {
	for _, s := range scores {
		if slices.ContainsFunc(rows, func(o run.Observation) bool { return o.Score == s.score }) {
			states = append(states, s.state)
		}
	}
	if len(states) == 0 && len(rows) > 0 {
		states = []state{measured}
	}
	return states
}

// tallied returns the gravest state of what a run found, and how often each was found.
func tallied(t run.Tally) (worst state, counts string) {
	worst = measured
	for _, part := range []struct {
		n     int
		state state
	}{{t.Kept, kept}, {t.Caught, caught}, {t.Undecided, undecided}, {t.Missed, missed}, {t.Broken, broken}} {
		if part.n == 0 {
			continue
		}
		counts += fmt.Sprintf(", %s %s", format.Count(part.n), part.state.Word)
		if worst = part.state; worst == caught {
			worst = kept
		}
	}
	return worst, counts
}

func rowState(row bench.Row) state {
	switch {
	case row.Unsafe == nil:
		return measured
	case row.Unsafe.Expected:
		return caught
	}
	return broken
}

var outcomes = map[selection.Outcome]state{
	selection.OneLock:      {Class: "score-kept", Symbol: "✓", Word: "advised"},
	selection.NoLockNeeded: {Class: "score-kept", Symbol: "✓", Word: "no lock needed"},
	selection.ATie:         {Class: "score-undecided", Symbol: "=", Word: "a tie"},
	selection.NothingFits:  {Class: "score-broken", Symbol: "✗", Word: "nothing fits"},
}
