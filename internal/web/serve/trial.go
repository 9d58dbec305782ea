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
	file := path.Join(name, dir, verdictName)
	info, err := s.root.Stat(file)
	if err != nil {
		return s.benchMarks(name, dir)
	}
	if known, ok := s.trials.get(file, stampOf(info)); ok {
		return known
	}
	var v checker.Verdict
	if err := s.read(file, &v); err != nil {
		return []mark{{unreadable, reason(err, s.dir)}}
	}
	h, _ := s.header(path.Join(name, dir, historyName))
	found := marksOf(&v, h)
	s.trials.put(file, stampOf(info), found)
	return found
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
	slices.SortStableFunc(found, func(a, b mark) int {
		rank := func(m mark) int {
			if i := slices.Index(order, m.State); i >= 0 {
				return i
			}
			return len(order)
		}
		return rank(a) - rank(b)
	})
	return found
}

// benchMarks are those of a trial that has no history of its own: a floor of a bench.
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

// header reads the first line of a history.
func (s *Server) header(file string) (histories.Header, error) {
	r, closeAll, err := s.openHistory(file)
	if err != nil {
		return histories.Header{}, err
	}
	defer closeAll()
	return r.Header, nil
}

func (s *Server) openHistory(file string) (*histories.Reader, func(), error) {
	if _, _, err := s.place(file); err != nil {
		return nil, nil, err
	}
	f, err := s.root.Open(file)
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
