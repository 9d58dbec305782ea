package serve

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
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

// quiet is after how long without a sign of life a run is taken for killed: one that goes on writes twice a second, but for
// the time in which servers come up or a long history is judged.
const quiet = time.Minute

type progress struct {
	Planned, Finished, Void int // trials
	Sign                    time.Time
	Silence                 time.Duration // since the last sign of life
	Alive                   bool
	Cells                   []cell
	Newest                  []newTrial // of what has not ended
}

// cell is one cell of the plan: of a bench a lock at a point.
type cell struct {
	Name, Dir               string
	Planned, Finished, Void int
	Stage                   state
	States                  []state // of what was found, the gravest first
	Gap                     string  // why something is missing
	Trials                  []trialLink
}

// trialLink is a trial's folder; History tells whether there is one to look at.
type trialLink struct {
	Name, Dir string
	State     state
	History   bool
	at        time.Time // when it was finished
}

type newTrial struct {
	trialLink
	Findings []mark
}

type mark struct {
	State state
	Text  string
}

// mostNewest is how many of the latest verdicts are told.
const mostNewest = 6

// Counts says how far it has come.
func (p *progress) Counts() string {
	text := fmt.Sprintf("%s of %s finished", format.Count(p.Finished), format.Plural(p.Planned, "trial"))
	if p.Void > 0 {
		text += fmt.Sprintf(", %s void", format.Count(p.Void))
	}
	if !p.Alive {
		text += "; no sign of life for " + format.Lasting(p.Silence)
	}
	return text
}

// Cut counts the cells in a state.
func (p *progress) Cut(word string) (n int) {
	for _, c := range p.Cells {
		if c.Stage.Word == word {
			n++
		}
	}
	return n
}

var trialNumber = regexp.MustCompile(`^[0-9]{3,}$`)

func (s *Server) progress(name string, rec *record) *progress {
	p := &progress{Sign: rec.started}
	if info, err := s.root.Stat(path.Join(name, rec.manifest)); err == nil {
		p.sign(info.ModTime())
	}
	for _, c := range rec.cells {
		c.Trials = s.trialsOf(name, c.Dir)
		p.cell(c)
	}
	p.finish(s, name, !rec.ended.IsZero())
	return p
}

func (p *progress) sign(at time.Time) {
	if at.After(p.Sign) {
		p.Sign = at
	}
}

func (p *progress) cell(c cell) {
	goesOn := false
	for _, t := range c.Trials {
		p.sign(t.at)
		switch t.State {
		case void:
			c.Void++
		case running:
			goesOn = true
		default:
			c.Finished++
		}
	}
	switch {
	case goesOn:
		c.Stage = running
	case c.Finished > 0 && c.Finished >= c.Planned:
		c.Stage = done
	case c.Finished > 0:
		c.Stage = begun
	default:
		c.Stage = waiting
	}
	p.Planned += max(c.Planned, c.Finished)
	p.Finished += c.Finished
	p.Void += c.Void
	p.Cells = append(p.Cells, c)
}

func (s *Server) trialsOf(name, dir string) (trials []trialLink) {
	entries, _ := fs.ReadDir(s.root.FS(), path.Join(name, dir)) // none before the first trial
	for _, e := range entries {
		if !e.IsDir() || !trialNumber.MatchString(e.Name()) {
			continue
		}
		t := trialLink{Name: e.Name(), Dir: path.Join(dir, e.Name()), State: running}
		at := path.Join(name, t.Dir)
		files, _ := fs.ReadDir(s.root.FS(), at)
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				continue
			}
			if info.ModTime().After(t.at) {
				t.at = info.ModTime()
			}
			switch f.Name() {
			case historyName:
				t.History = true
			case verdictName, bench.TrialName:
				if t.State != void {
					t.State = measured
				}
			case voidName:
				t.State = void
			}
		}
		trials = append(trials, t)
	}
	return trials
}

// finish finds out whether it goes on, and which verdicts are the newest of what has not ended.
func (p *progress) finish(s *Server, name string, ended bool) {
	p.Silence = s.now().Sub(p.Sign)
	p.Alive = !ended && p.Silence < quiet
	for i := range p.Cells {
		c := &p.Cells[i]
		if !p.Alive && c.Stage == running {
			c.Stage = interrupted
		}
		for i, t := range c.Trials {
			switch {
			case t.State == measured && !ended:
				p.Newest = append(p.Newest, newTrial{trialLink: t})
			case t.State == running && !p.Alive:
				c.Trials[i].State = notJudged
			}
		}
	}
	slices.SortStableFunc(p.Newest, func(a, b newTrial) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.Dir, a.Dir)) })
	p.Newest = p.Newest[:min(len(p.Newest), mostNewest)]
	for i := range p.Newest {
		p.Newest[i].Findings = s.marks(name, p.Newest[i].Dir)
	}
}

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
