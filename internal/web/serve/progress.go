package serve

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"time"

	"lockbench/reports/bench"
	"lockbench/reports/format"
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
