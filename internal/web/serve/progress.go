package serve

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

// quiet is after how long without a sign of life a run is taken for killed: one that goes on writes twice a second, but for
// the time in which servers come up or a long history is judged.
const quiet = time.Minute

// progress is how far a run or a bench has come that has not said that it ended.
type progress struct {
	Planned, Finished, Void int // trials
	Sign                    time.Time
	Silence                 time.Duration // since the last sign of life
	Alive                   bool
	Cells                   []cellProgress
	Newest                  []newTrial
}

// cellProgress is one cell of the plan: of a bench a subject at a point.
type cellProgress struct {
	Name                    string
	Planned, Finished, Void int
	State                   state
	Trials                  []trialLink
}

// trialLink is a trial's folder; History tells whether there is one to look at.
type trialLink struct {
	Name, Dir string
	State     state
	History   bool
	at        time.Time // when it was finished
}

// newTrial is a trial that was judged lately, and how.
type newTrial struct {
	trialLink
	Cell     string
	Findings []mark
}

// mark is one verdict on a trial.
type mark struct {
	State state
	Text  string
}

// mostNewest is how many of the latest verdicts are told.
const mostNewest = 6

// Counts says how far it has come.
func (p *progress) Counts() string {
	text := fmt.Sprintf("%s of %s finished", format.Count(p.Finished), plural(p.Planned, "trial"))
	if p.Void > 0 {
		text += fmt.Sprintf(", %s void", format.Count(p.Void))
	}
	if !p.Alive {
		text += "; no sign of life for " + lasting(p.Silence)
	}
	return text
}

// Cut is how many cells stand in a state.
func (p *progress) Cut(word string) (n int) {
	for _, c := range p.Cells {
		if c.State.Word == word {
			n++
		}
	}
	return n
}

var (
	trialNumber = regexp.MustCompile(`^[0-9]{3,}$`)
	trialsFlag  = regexp.MustCompile(`--trials[= ]([0-9]{1,5})\b`)
)

// runProgress looks at the folders of a run's plan. How many trials each cell is to have stands in the line that started it.
func (s *Server) runProgress(name string, m run.Manifest) *progress {
	each := 1
	if found := trialsFlag.FindStringSubmatch(m.Command); found != nil {
		each, _ = strconv.Atoi(found[1])
	}
	p := &progress{}
	p.sign(m.Started)
	p.signOf(s, path.Join(name, run.ManifestName))
	for _, c := range m.Plan {
		p.cell(s, name, c.Dir, c.Dir, each)
	}
	return p.finish(s, name)
}

func (s *Server) benchProgress(name string, plan *bench.Plan) *progress {
	p := &progress{}
	p.sign(plan.Started)
	p.signOf(s, path.Join(name, bench.PlanName))
	for _, pair := range plan.Pairs {
		subject, point := plan.Subjects[pair.Subject].Name, plan.Points[pair.Point].ID
		p.cell(s, name, path.Join(point, subject), subject+" at "+point, plan.Trials)
	}
	return p.finish(s, name)
}

func (p *progress) sign(at time.Time) {
	if at.After(p.Sign) {
		p.Sign = at
	}
}

func (p *progress) signOf(s *Server, file string) {
	if info, err := s.root.Stat(file); err == nil {
		p.sign(info.ModTime())
	}
}

// cell looks at the trials of one cell.
func (p *progress) cell(s *Server, name, dir, called string, planned int) {
	c := cellProgress{Name: called, Planned: planned, State: waiting(), Trials: s.trialsOf(name, dir)}
	for _, t := range c.Trials {
		p.sign(t.at)
		switch t.State {
		case void():
			c.Void++
		case running():
			c.State = running()
		default:
			c.Finished++
		}
	}
	if c.State != running() && c.Finished > 0 {
		c.State = state{"score-measured", "◐", "begun"}
		if c.Finished >= planned {
			c.State = state{"score-measured", "✓", "done"}
		}
	}
	p.Planned += max(planned, c.Finished)
	p.Finished += c.Finished
	p.Void += c.Void
	p.Cells = append(p.Cells, c)
}

// trialsOf lists the trials of a cell with what became of each.
func (s *Server) trialsOf(name, dir string) (trials []trialLink) {
	entries, err := fs.ReadDir(s.root.FS(), path.Join(name, dir))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || !trialNumber.MatchString(e.Name()) {
			continue
		}
		t := trialLink{Name: e.Name(), Dir: path.Join(dir, e.Name()), State: running()}
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
				if t.State != void() {
					t.State = measured()
				}
			case voidName:
				t.State = void()
			}
		}
		trials = append(trials, t)
	}
	return trials
}

// finish tells whether it goes on, and which verdicts are the newest.
func (p *progress) finish(s *Server, name string) *progress {
	p.Silence = s.now().Sub(p.Sign)
	p.Alive = p.Silence < quiet
	for i := range p.Cells {
		c := &p.Cells[i]
		if !p.Alive && c.State == running() {
			c.State = interrupted()
		}
		for _, t := range c.Trials {
			if t.State == measured() {
				p.Newest = append(p.Newest, newTrial{trialLink: t, Cell: c.Name})
			}
		}
	}
	slices.SortStableFunc(p.Newest, func(a, b newTrial) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.Dir, a.Dir)) })
	p.Newest = p.Newest[:min(len(p.Newest), mostNewest)]
	for i := range p.Newest {
		p.Newest[i].Findings = s.marks(name, p.Newest[i].Dir)
	}
	return p
}
