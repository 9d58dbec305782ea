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

// progress is how far a run or a bench has come.
type progress struct {
	Planned, Finished, Void int // trials
	Sign                    time.Time
	Silence                 time.Duration // since the last sign of life
	Alive                   bool
	Cells                   []cell
	Newest                  []newTrial
}

// cell is one cell of the plan: of a bench a lock at a point.
type cell struct {
	Name, Dir               string
	Planned, Finished, Void int
	States                  []state // the gravest first
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
		if c.States[0].Word == word {
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
	p := &progress{Sign: m.Started}
	p.signOf(s, path.Join(name, run.ManifestName))
	for _, c := range m.Plan {
		p.cell(s, name, cell{Name: c.Dir, Dir: c.Dir, Planned: each})
	}
	return p.finish(s, name, !m.Ended.IsZero())
}

func (s *Server) benchProgress(name string, plan *bench.Plan) *progress {
	p := &progress{Sign: plan.Started}
	p.signOf(s, path.Join(name, bench.PlanName))
	for _, pair := range plan.Pairs {
		subject, point := plan.Subjects[pair.Subject].Name, plan.Points[pair.Point].ID
		p.cell(s, name, cell{Name: subject + " at " + point, Dir: path.Join(point, subject), Planned: plan.Trials})
	}
	return p.finish(s, name, !plan.Ended.IsZero())
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
func (p *progress) cell(s *Server, name string, c cell) {
	c.Trials = s.trialsOf(name, c.Dir)
	state, goesOn := waiting, false
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
		state = running
	case c.Finished > 0 && c.Finished >= c.Planned:
		state = done
	case c.Finished > 0:
		state = begun
	}
	c.States = append(c.States, state)
	p.Planned += max(c.Planned, c.Finished)
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
func (p *progress) finish(s *Server, name string, ended bool) *progress {
	p.Silence = s.now().Sub(p.Sign)
	p.Alive = !ended && p.Silence < quiet
	for _, c := range p.Cells {
		if !p.Alive && c.States[0] == running {
			c.States[0] = interrupted
		}
		for i, t := range c.Trials {
			switch {
			case t.State == measured && !ended:
				p.Newest = append(p.Newest, newTrial{trialLink: t, Cell: c.Name})
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
	return p
}
