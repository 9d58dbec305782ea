package serve

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

type progress struct {
	Planned, Finished, Discarded int // trials
	Sign                         time.Time
	Silence                      time.Duration // since the last sign of life
	Alive                        bool
	Cells                        []cell
	Newest                       []trial // of what has not ended
}

// cell is one cell of the plan: of a bench a lock at a point.
type cell struct {
	Name, Dir                    string
	Planned, Finished, Discarded int
	Stage                        state
	States                       []state // of what was found, the gravest first
	Gap                          string  // why something is missing
	Trials                       []trial
}

// trial is a trial's folder; History reports whether there is one to look at.
type trial struct {
	Name, Dir string
	State     state
	History   bool
	Findings  []mark    // of one of the newest
	at        time.Time // when it was finished
}

type mark struct {
	State state
	Text  string
}

func (p *progress) Counts() string {
	text := fmt.Sprintf("%s of %s finished", format.Count(p.Finished), format.Plural(p.Planned, "trial"))
	if p.Discarded > 0 {
		text += fmt.Sprintf(", %s discarded", format.Count(p.Discarded))
	}
	if !p.Alive {
		text += "; no sign of life for " + format.Lasting(p.Silence)
	}
	return text
}

func (p *progress) Cut(word string) (n int) {
	for _, c := range p.Cells {
		if c.Stage.Word == word {
			n++
		}
	}
	return n
}

func (s *Server) progress(f *folder) *progress {
	p := &progress{Sign: f.Started, Cells: slices.Clone(f.cells)}
	if info, err := s.root.Stat(path.Join(f.Name, f.manifest)); err == nil {
		p.Sign = later(p.Sign, info.ModTime())
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Trials = s.trialsOf(f.Name, c.Dir)
		for _, t := range c.Trials {
			p.Sign = later(p.Sign, t.at)
		}
	}
	p.Silence = s.now().Sub(p.Sign)
	p.Alive = !f.Ended && p.Silence < quiet
	for i := range p.Cells {
		c := &p.Cells[i]
		c.count(p.Alive)
		p.Planned, p.Finished, p.Discarded = p.Planned+max(c.Planned, c.Finished), p.Finished+c.Finished, p.Discarded+c.Discarded
		for _, t := range c.Trials {
			if t.State == observed && !f.Ended {
				p.Newest = append(p.Newest, t)
			}
		}
	}
	slices.SortStableFunc(p.Newest, func(a, b trial) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.Dir, a.Dir)) })
	p.Newest = p.Newest[:min(len(p.Newest), mostNewest)]
	for i := range p.Newest {
		p.Newest[i].Findings = s.marks(f.Name, p.Newest[i].Dir)
	}
	return p
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// count counts the trials of a cell. What still runs in a run that is not alive was never judged.
func (c *cell) count(alive bool) {
	underWay := false
	for i := range c.Trials {
		switch t := &c.Trials[i]; t.State {
		case discarded:
			c.Discarded++
		case running:
			if underWay = true; !alive {
				t.State = notJudged
			}
		default:
			c.Finished++
		}
	}
	switch {
	case underWay && alive:
		c.Stage = running
	case underWay:
		c.Stage = interrupted
	case c.Finished > 0 && c.Finished >= c.Planned:
		c.Stage = done
	case c.Finished > 0:
		c.Stage = begun
	default:
		c.Stage = waiting
	}
}

func (s *Server) trialsOf(name, dir string) (trials []trial) {
	dirs, _ := run.TrialDirs(s.root.FS(), path.Join(name, dir)) // none before the first trial
	for _, at := range dirs {
		t := trial{Name: path.Base(at), Dir: path.Join(dir, path.Base(at)), State: running}
		files, _ := fs.ReadDir(s.root.FS(), at)
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				continue
			}
			t.at = later(t.at, info.ModTime())
			switch f.Name() {
			case run.HistoryName:
				t.History = true
			case run.VerdictName, bench.TrialName:
				if t.State != discarded {
					t.State = observed
				}
			case run.VoidName:
				t.State = discarded
			}
		}
		trials = append(trials, t)
	}
	return trials
}

// state is what became of something: a symbol, a word and a colour, so that nothing depends on colour alone.
type state = html.Badge

var (
	pass         = stateOf(checker.Pass, checker.Held)
	xfail        = stateOf(checker.XFail, checker.Violated)
	fail         = stateOf(checker.Fail, checker.Violated)
	inconclusive = stateOf(checker.Inconclusive, checker.Undecided)
	observed     = stateOf(checker.NoExpectation, checker.Held)
	overlapped   = state{Class: "result-violated", Symbol: "◫", Word: "both inside"}
	faulted      = state{Class: "result-fault", Symbol: "⚡", Word: "fault"}
	running      = state{Class: "result-running", Symbol: "▶", Word: "running"}
	waiting      = state{Class: "result-observed", Symbol: "·", Word: "waiting"}
	begun        = state{Class: "result-observed", Symbol: "◐", Word: "begun"}
	done         = state{Class: "result-observed", Symbol: "✓", Word: "done"}
	interrupted  = state{Class: "result-interrupted", Symbol: "■", Word: "interrupted"}
	stopped      = state{Class: "result-interrupted", Symbol: "■", Word: "stopped"}
	discarded    = state{Class: "result-inconclusive", Symbol: "–", Word: "discarded"}
	notJudged    = state{Class: "result-inconclusive", Symbol: "?", Word: "not judged"}
	withheld     = state{Class: "result-inconclusive", Symbol: "?", Word: "withheld"}
	unreported   = state{Class: "result-inconclusive", Symbol: "?", Word: "no results"}
	unreadable   = state{Class: "result-inconclusive", Symbol: "?", Word: "unreadable"}
)

// stateOf returns the state of a result. A violation without an expectation has a state of its own.
func stateOf(result checker.Result, observed checker.Observed) state {
	b := run.BadgeOf(result, observed)
	if b.Class == "result-violated" {
		b.Word = "violated"
	}
	return b
}

// gravest returns the states of a cell's verdicts, each once, the gravest first.
func gravest(rows []run.Observation) (states []state) {
	slices.SortStableFunc(rows, func(a, b run.Observation) int {
		return run.Gravity(b.Result, b.Observed) - run.Gravity(a.Result, a.Observed)
	})
	for _, o := range rows {
		if s := stateOf(o.Result, checker.NotApplicable); len(states) == 0 || s != observed && s != states[len(states)-1] {
			states = append(states, s)
		}
	}
	return states
}

// tallied returns the gravest state of what a run found, and how often each was found.
func tallied(t run.Tally) (worst state, counts string) {
	worst = observed
	for _, result := range []checker.Result{checker.XFail, checker.Pass, checker.Inconclusive, checker.XPass, checker.Fail} {
		if n := *t.Of(result); n > 0 {
			worst = stateOf(result, checker.NotApplicable)
			counts += fmt.Sprintf(", %s %s", format.Count(n), worst.Word)
		}
	}
	if worst == xfail {
		worst = pass
	}
	return worst, counts
}

func rowState(row bench.Row) state {
	switch {
	case row.Unsafe == nil:
		return observed
	case row.Unsafe.Expected:
		return xfail
	}
	return fail
}

var outcomes = map[selection.Outcome]state{
	selection.OneLock:      {Class: "result-pass", Symbol: "✓", Word: "advised"},
	selection.NoLockNeeded: {Class: "result-pass", Symbol: "✓", Word: "no lock needed"},
	selection.ATie:         {Class: "result-inconclusive", Symbol: "=", Word: "a tie"},
	selection.NothingFits:  {Class: "result-fail", Symbol: "✗", Word: "nothing fits"},
}

func (s *Server) marks(name, dir string) []mark {
	var v checker.Verdict
	err := s.read(path.Join(name, dir, run.VerdictName), &v)
	switch {
	case missing(err):
		return s.benchMarks(name, dir)
	case err != nil:
		return []mark{{unreadable, reason(err, s.dir)}}
	}
	var h histories.Header
	if r, closeAll, err := s.openHistory(path.Join(name, dir, run.HistoryName)); err == nil {
		defer closeAll()
		h = r.Header
	}
	return marksOf(&v, h)
}

// marksOf returns the findings of a verdict, without what was neither expected nor violated.
func marksOf(v *checker.Verdict, h histories.Header) []mark {
	var found []mark
	gravity := map[state]int{}
	for _, f := range v.Findings {
		result := checker.ResultOf(h.Expectation(f.Property).Expected, f.Observed)
		m := mark{State: stateOf(result, f.Observed), Text: f.Property}
		if m.State == observed {
			continue
		}
		if f.Observed == checker.Violated {
			m.Text += ", " + format.Plural(f.Violations, "violation")
		}
		if f.Observed == checker.Undecided && f.Why != "" {
			m.Text += ": " + f.Why
		}
		gravity[m.State] = run.Gravity(result, f.Observed)
		found = append(found, m)
	}
	if len(v.Oracle.Disagreements) > 0 {
		gravity[unreadable] = run.Gravity(checker.Inconclusive, checker.Undecided)
		found = append(found, mark{unreadable, "monitor and oracle disagree: a fault of lockbench"})
	}
	slices.SortStableFunc(found, func(a, b mark) int { return gravity[b.State] - gravity[a.State] })
	return found
}

func (s *Server) benchMarks(name, dir string) []mark {
	var t bench.Trial
	if err := s.read(path.Join(name, dir, bench.TrialName), &t); err != nil {
		return nil
	}
	if t.Discarded != "" {
		return []mark{{discarded, t.Discarded}}
	}
	return []mark{{observed, "a baseline: there is nothing to judge"}}
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
