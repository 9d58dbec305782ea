package serve

import (
	"fmt"
	"path"
	"slices"

	"lockbench/checker"
	"lockbench/histories"
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

// The files of a trial.
const (
	historyName = "history.jsonl.zst"
	verdictName = "verdict.json"
	voidName    = "void.json"
)

// marks are the verdicts on a trial: what was claimed of it and what was found, the gravest first.
func (s *Server) marks(name, dir string) []mark {
	var v checker.Verdict
	err := s.read(path.Join(name, dir, verdictName), &v)
	switch {
	case missing(err):
		return s.benchMarks(name, dir)
	case err != nil:
		return []mark{{unreadable, reason(err, s.dir)}}
	}
	r, closeAll, err := s.openHistory(path.Join(name, dir, historyName))
	if err != nil {
		return marksOf(&v, histories.Header{})
	}
	defer closeAll()
	return marksOf(&v, r.Header)
}

// marksOf leaves out what nobody claimed and nothing violated.
func marksOf(v *checker.Verdict, h histories.Header) []mark {
	var found []mark
	for _, f := range v.Findings {
		score := checker.ScoreOf(h.Claim(f.Property).Expected, f.Observed)
		if score == checker.Measured && f.Observed != checker.Violated {
			continue
		}
		m := mark{State: scored(score), Text: f.Property}
		if f.Observed == checker.Violated {
			if m.State == measured {
				m.State = violated
			}
			m.Text += ", " + format.Plural(f.Violations, "violation")
		}
		if f.Observed == checker.Undecided && f.Why != "" {
			m.Text += ": " + f.Why
		}
		found = append(found, m)
	}
	if len(v.Oracle.Disagreements) > 0 {
		found = append(found, mark{unreadable, "monitor and oracle disagree: a fault of lockbench"})
	}
	order := []state{broken, missed, undecided, unreadable}
	rank := func(m mark) int { return slices.Index(append(order, m.State), m.State) }
	slices.SortStableFunc(found, func(a, b mark) int { return rank(a) - rank(b) })
	return found
}

func (s *Server) benchMarks(name, dir string) []mark {
	var t bench.Trial
	if err := s.read(path.Join(name, dir, bench.TrialName), &t); err != nil {
		return nil
	}
	if t.Void != "" {
		return []mark{{void, t.Void}}
	}
	return []mark{{measured, "a floor: there is nothing to judge"}}
}

func (s *Server) openHistory(file string) (*histories.Reader, func(), error) {
	f, _, err := s.open(file)
	if err != nil {
		return nil, nil, err
	}
	r, err := histories.NewReader(f)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return r, func() { r.Close(); f.Close() }, nil
}
