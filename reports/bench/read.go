package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"lockbench/reports/stats"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Read reads a bench folder and works out what its trials come to. A trial that is not there is absent and no error: the
// bench may still run, or was interrupted.
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
