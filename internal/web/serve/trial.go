package serve

import (
	"path"
	"slices"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/bench"
	"lockbench/reports/format"
)

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
