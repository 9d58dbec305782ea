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

// progress holds the progress of a run or a benchmark.
type progress struct {
	Planned, Finished, Discarded int // numbers of planned, finished and discarded trials
	LastWrite                    time.Time
	Idle                         time.Duration // time since the last write to the folder
	Left                         time.Duration // estimate of the time left; 0: unknown
	Alive                        bool
	Cells                        []cell
	Newest                       []trial // newest trials; nil unless the run is under way
}

// cell holds the progress of one planned combination, such as a lock, a workload and a fault in a run. In a
// benchmark, a cell is a lock under one condition.
type cell struct {
	Name, Dir                    string
	Planned, Finished, Discarded int
	Stage                        state
	States                       []state
	Expected                     expectations
	Gap                          string // reason why the results of the cell are missing
	Trials                       []trial
}

// expectations holds a text that states whether all expectations were met. Unmet is true if at least one was not met.
type expectations struct {
	Text  string
	Unmet bool
}

var asExpected = expectations{Text: "as expected"}

// trial describes the folder of a trial. History is true if the folder contains a history.
type trial struct {
	Name, Dir string
	State     state
	History   bool
	Result    trialResult // set only for the latest trials of a run under way (progress.Newest)
	at        time.Time   // time of the last write to the trial's folder
}

// trialResult holds the verdict on a trial: whether the lock excluded other clients, and a mark for each property checked.
type trialResult struct {
	State    state
	Expected expectations
	Marks    []mark
}

type mark struct {
	State state
	Text  string
}

// Counts returns a text with the numbers of finished, planned and discarded trials. For a run under way, the text also
// states the time left, if it is known. For any other run, the text states the time since the last write.
func (p *progress) Counts() string {
	text := fmt.Sprintf("%s of %s finished", format.Count(p.Finished), format.Plural(p.Planned, "trial"))
	if p.Discarded > 0 {
		text += fmt.Sprintf(", %s discarded", format.Count(p.Discarded))
	}
	switch {
	case !p.Alive:
		text += "; last write " + format.Lasting(p.Idle) + " ago"
	case p.Left > 0:
		text += "; about " + format.Lasting(p.Left) + " left"
	}
	return text
}

// Cut returns the number of planned combinations with a certain status, such as "waiting" or "interrupted". In a run, a
// combination consists of a lock, a workload and a fault.
func (p *progress) Cut(word string) (n int) {
	for _, c := range p.Cells {
		if c.Stage.Word == word {
			n++
		}
	}
	return n
}

func (s *Server) progress(f *folder) *progress {
	p := &progress{LastWrite: f.Started, Cells: slices.Clone(f.cells)}
	if info, err := s.root.Stat(path.Join(f.Name, f.manifest)); err == nil {
		p.LastWrite = later(p.LastWrite, info.ModTime())
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Trials = s.trialsOf(f.Name, c.Dir)
		for _, t := range c.Trials {
			p.LastWrite = later(p.LastWrite, t.at)
		}
	}
	p.Idle = s.now().Sub(p.LastWrite)
	p.Alive = !f.Ended && p.Idle < idleTimeout
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
	if p.Alive && p.Finished > 0 {
		p.Left = p.LastWrite.Sub(f.Started) * time.Duration(p.Planned-p.Finished) / time.Duration(p.Finished)
	}
	slices.SortStableFunc(p.Newest, func(a, b trial) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.Dir, a.Dir)) })
	p.Newest = p.Newest[:min(len(p.Newest), mostNewest)]
	for i := range p.Newest {
		r := s.resultOf(f.Name, p.Newest[i].Dir)
		if r.State.Class == pass.Class {
			r.State.Class = observed.Class // not green, because the run has not finished
		}
		p.Newest[i].Result = r
	}
	return p
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// count counts the finished and the discarded trials of a cell, and sets the cell's stage. If the run has stopped
// (parameter alive is false), unfinished trials are marked as not judged.
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
	if c.Finished < c.Planned {
		soFar(c.States)
	}
}

func (s *Server) trialsOf(name, dir string) (trials []trial) {
	dirs, _ := run.TrialDirs(s.root.FS(), path.Join(name, dir)) // after an error, the cell has no trials
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
			case run.DiscardedName:
				t.State = discarded
			}
		}
		trials = append(trials, t)
	}
	return trials
}

// state is a result as a symbol, a word and a colour. The colour does not depend on whether the result was expected.
type state = html.Badge

var (
	pass         = stateOf(checker.Pass, checker.Held)
	inconclusive = stateOf(checker.Inconclusive, checker.Undecided)
	observed     = stateOf(checker.NoExpectation, checker.Held)
	overlapped   = run.ExclusionBadge([]run.Observation{{Property: "mutual-exclusion", Observed: checker.Violated}})
	faulted      = state{Class: "result-fault", Symbol: "⚡", Word: "fault"}
	running      = state{Class: "result-running", Symbol: "▶", Word: "running"}
	waiting      = state{Class: "result-observed", Symbol: "·", Word: "waiting"}
	begun        = state{Class: "result-observed", Symbol: "◐", Word: "partly done"}
	done         = state{Class: "result-observed", Symbol: "✓", Word: "done"}
	measured     = state{Class: "result-observed", Symbol: "✓", Word: "measured"}
	interrupted  = state{Class: "result-interrupted", Symbol: "■", Word: "interrupted"}
	stopped      = state{Class: "result-interrupted", Symbol: "■", Word: "stopped"}
	discarded    = state{Class: "result-inconclusive", Symbol: "–", Word: "discarded"}
	notJudged    = state{Class: "result-inconclusive", Symbol: "?", Word: "not judged"}
	withheld     = state{Class: "result-inconclusive", Symbol: "?", Word: "figures withheld"}
	unreported   = state{Class: "result-inconclusive", Symbol: "?", Word: "no results"}
	unreadable   = state{Class: "result-inconclusive", Symbol: "?", Word: "unreadable"}
)

// stateOf returns the symbol, word and colour for the result of a check. The word is "violated" for a violation
// without an expectation.
func stateOf(result checker.Result, observed checker.Observed) state {
	b := run.BadgeOf(result, observed)
	if b.Class == "result-violated" {
		b.Word = "violated"
	}
	return b
}

func tallyOf(rows []run.Observation) (t run.Tally) {
	for _, o := range rows {
		*t.Of(o.Result)++
	}
	return t
}

// expectationsOf returns a text with the worst kind of unexpected result and its count, or "as expected".
func expectationsOf(t run.Tally) expectations {
	for _, result := range []checker.Result{checker.Fail, checker.XPass, checker.Inconclusive} {
		if n := *t.Of(result); n > 0 {
			return expectations{format.Count(n) + " " + result.String(), true}
		}
	}
	if t.Expected() == 0 {
		return expectations{Text: "nothing expected"}
	}
	return asExpected
}

func rowState(row bench.Row) state {
	if row.Unsafe == nil {
		return measured
	}
	return overlapped
}

var outcomes = map[selection.Outcome]state{
	selection.OneLock:      {Class: "result-pass", Symbol: "✓", Word: "recommended"},
	selection.NoLockNeeded: {Class: "result-pass", Symbol: "✓", Word: "no lock needed"},
	selection.ATie:         {Class: "result-inconclusive", Symbol: "=", Word: "a tie"},
	selection.NothingFits:  {Class: "result-fail", Symbol: "✗", Word: "nothing fits"},
}

func (s *Server) resultOf(name, dir string) trialResult {
	var v checker.Verdict
	err := s.read(path.Join(name, dir, run.VerdictName), &v)
	switch {
	case missing(err):
		return s.benchResult(name, dir)
	case err != nil:
		return trialResult{State: unreadable, Marks: []mark{{observed, reason(err, s.dir)}}}
	}
	var h histories.Header
	if r, closeAll, err := s.openHistory(path.Join(name, dir, run.HistoryName)); err == nil {
		defer closeAll()
		h = r.Header
	}
	return trialResultOf(&v, h)
}

// trialResultOf returns the result of a trial, from its verdict. The result contains a mark, which is a state and a text,
// for each property. A property without an expectation has a mark only if it is violated.
func trialResultOf(v *checker.Verdict, h histories.Header) trialResult {
	var seen []run.Observation
	for _, f := range v.Findings {
		result := checker.ResultOf(h.Expectation(f.Property).Expected, f.Observed)
		seen = append(seen, run.Observation{Property: f.Property, Observed: f.Observed, Result: result, Why: f.Why, Violations: f.Violations})
	}
	slices.SortStableFunc(seen, func(a, b run.Observation) int {
		return run.Gravity(b.Result, b.Observed) - run.Gravity(a.Result, a.Observed)
	})
	r := trialResult{State: run.ExclusionBadge(seen), Expected: expectationsOf(tallyOf(seen))}
	if len(v.Oracle.Disagreements) > 0 {
		r.State = unreadable
		r.Marks = append(r.Marks, mark{observed, "monitor and oracle disagree: a defect of lockbench"})
	}
	for _, o := range seen {
		m := mark{State: stateOf(o.Result, o.Observed), Text: o.Property}
		switch {
		case m.State == observed:
			continue
		case o.Observed == checker.Violated:
			m.Text += ", " + format.Plural(o.Violations, "violation")
		case o.Observed == checker.Undecided && o.Why != "":
			m.Text += ": " + o.Why
		}
		m.State.Class = observed.Class // the mark has a neutral colour: only the state of the trial is coloured
		r.Marks = append(r.Marks, m)
	}
	return r
}

func (s *Server) benchResult(name, dir string) trialResult {
	var t bench.Trial
	if err := s.read(path.Join(name, dir, bench.TrialName), &t); err != nil {
		return trialResult{State: notJudged}
	}
	if t.Discarded != "" {
		return trialResult{State: discarded, Marks: []mark{{observed, t.Discarded}}}
	}
	return trialResult{State: measured}
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
