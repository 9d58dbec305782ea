package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"lockbench/reports/stats"
)

// Results is results.json, a function of bench.json and the trials alone.
type Results struct {
	Version  int       `json:"lockbench_bench_results"`
	Plan     *Plan     `json:"plan"`
	Withheld []string  `json:"withheld,omitempty"` // why the figures are not shown: the controls that failed
	Checks   []Check   `json:"checks"`             // the bench's controls, in display order
	Rows     []Row     `json:"rows"`               // by point, then by subject, as the plan has them
	Rankings []Ranking `json:"rankings"`           // by point
	Trials   []*Trial  `json:"-"`                  // in the order in which they ran
	Dir      string    `json:"-"`
}

// Check is one of the controls that every bench carries.
type Check struct {
	Name string `json:"name"` // broken-lock, known-delay, stalled-generator, same-lock-twice
	Doc  string `json:"doc"`  // what must come out, in one sentence
	OK   bool   `json:"ok"`
	Seen string `json:"seen"` // what came out, in one sentence with its figures
}

// Row is one subject at one point, over its trials.
type Row struct {
	Subject   string                    `json:"subject"`
	Point     string                    `json:"point"`
	Trials    int                       `json:"trials"` // that count
	Void      int                       `json:"void,omitempty"`
	Estimates map[string]stats.Estimate `json:"estimates"` // by metric
	// Unsafe is the violation by which the figures of the row mean nothing; in how many of the trials is UnsafeIn.
	Unsafe   *Violation `json:"unsafe,omitempty"`
	UnsafeIn int        `json:"unsafe_in,omitempty"`
	// Limited says that the harness or the machine, and not the lock, was the limit; empty where it was not.
	Limited string `json:"limited,omitempty"`
	// Unsteady is in how many trials the rate had not settled when the measured window began.
	Unsteady int `json:"unsteady,omitempty"`
}

// Ranking is a point's subjects from best to worst by goodput. Those that cannot be told apart share a rank.
type Ranking struct {
	Point string   `json:"point"`
	Order []Ranked `json:"order"`
}

// Ranked is a subject's place.
type Ranked struct {
	Subject string           `json:"subject"`
	Rank    int              `json:"rank"`          // from 1; 0: out of the running, as its figures mean nothing
	ToBest  stats.Comparison `json:"to_best"`       // this to the best; of the best itself the ratio is 1
	Why     string           `json:"why,omitempty"` // out of the running
}

// Read reads a bench folder and computes its results. A missing trial is no error: the bench may still run.
func Read(dir string) (*Results, error) {
	plan, err := ReadPlan(dir)
	if err != nil {
		return nil, err
	}
	var trials []*Trial
	for _, pair := range plan.Pairs {
		found, err := readTrials(dir, path.Join(plan.Points[pair.Point].ID, plan.Subjects[pair.Subject].Name))
		if err != nil {
			return nil, err
		}
		trials = append(trials, found...)
	}
	r := ResultsOf(plan, trials)
	r.Dir = dir
	return r, nil
}

func readTrials(dir, pair string) ([]*Trial, error) {
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(pair)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var trials []*Trial
	blocks := map[int]string{}
	for _, e := range entries {
		t, err := ReadTrial(dir, path.Join(pair, e.Name()))
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue
		}
		if err != nil {
			return nil, err
		}
		if other, twice := blocks[t.Block]; twice {
			return nil, fmt.Errorf("%s and %s are both of block %d: a trial is counted once", other, t.Dir, t.Block)
		}
		blocks[t.Block] = t.Dir
		trials = append(trials, t)
	}
	return trials, nil
}

// ResultsOf returns what follows from the plan and the trials.
func ResultsOf(plan *Plan, trials []*Trial) *Results {
	slices.SortFunc(trials, func(a, b *Trial) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Dir, b.Dir))
	})
	r := &Results{Version: Version, Plan: plan, Checks: []Check{}, Rows: []Row{}, Rankings: []Ranking{}, Trials: trials}
	for pt := range plan.Points {
		for s := range plan.Subjects {
			if slices.Contains(plan.Pairs, Pair{Subject: s, Point: pt}) {
				r.Rows = append(r.Rows, r.row(plan.Subjects[s].Name, plan.Points[pt].ID))
			}
		}
	}
	for i := range r.Rows {
		r.Rows[i].Limited = r.limited(r.Rows[i])
	}
	for _, p := range plan.Points {
		r.Rankings = append(r.Rankings, r.ranking(p.ID))
	}
	r.Checks = r.checks()
	r.Withheld = r.withheld()
	return r
}

// row gathers the trials of one subject at one point. Void ones are counted, and leave no figure.
func (r *Results) row(subject, point string) Row {
	counted := r.counted(subject, point)
	row := Row{Subject: subject, Point: point, Trials: len(counted), Estimates: map[string]stats.Estimate{}}
	for _, t := range r.Trials {
		if t.Subject == subject && t.Point == point && t.Void != "" {
			row.Void++
		}
	}
	for _, t := range counted {
		if !t.Steady {
			row.Unsteady++
		}
		if v := t.Unsafe(); v != nil {
			row.UnsafeIn++
			row.Unsafe = cmp.Or(row.Unsafe, v)
		}
	}
	for _, m := range Metrics() {
		if e := estimateOver(counted, m.Name); e.N > 0 {
			row.Estimates[m.Name] = e
		}
	}
	return row
}

// counted returns the trials of a subject at a point that are not void, by block.
func (r *Results) counted(subject, point string) []*Trial {
	return filter(r.Trials, func(t *Trial) bool { return t.Subject == subject && t.Point == point && t.Void == "" })
}

func estimateOver(trials []*Trial, metric string) stats.Estimate {
	var values []float64
	var blocks []int
	for _, t := range trials {
		if v, ok := t.Figures[metric]; ok {
			values, blocks = append(values, v), append(blocks, t.Block)
		}
	}
	return stats.EstimateOf(values, blocks)
}

// Row finds the row of a subject at a point.
func (r *Results) Row(subject, point string) (*Row, bool) {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Subject == subject && row.Point == point {
			return row, true
		}
	}
	return nil, false
}

// Subject finds a subject of the plan by its name.
func (p *Plan) Subject(name string) (Subject, bool) {
	return find(p.Subjects, func(s Subject) bool { return s.Name == name })
}

// Point finds a point of the plan by its ID.
func (p *Plan) Point(id string) (Point, bool) {
	return find(p.Points, func(pt Point) bool { return pt.ID == id })
}
