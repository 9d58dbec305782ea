package advisor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/samber/lo"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/internal/choose/decision"
	"lockbench/internal/measure"
	"lockbench/reports/bench"
	"lockbench/reports/figures"
	"lockbench/reports/run"
	"lockbench/reports/selection"
	"lockbench/reports/stats"
)

// Checked is the result of comparing a finding or figure with the histories from which it was computed.
type Checked struct {
	ID      string
	Absent  bool     // whether histories of the finding or figure are missing
	Differs []string // one sentence for each difference
	Files   []string // histories that were judged or measured again
}

// verifying caches verdicts and measurements, so that each history is read only once.
type verifying struct {
	base     string
	sources  map[string]selection.Source
	verdicts map[string]judged // verdict on each history, by path of the history file
}

type judged struct {
	verdict *checker.Verdict
	err     error
}

// Verify judges and measures the histories of a report again and compares the results with the evidence in the report. base
// is the folder of the report. If ids are given, only the findings and figures with these ids are checked.
func Verify(base string, r *selection.Report, only ...string) []Checked {
	v := &verifying{base: base, verdicts: map[string]judged{},
		sources: lo.KeyBy(r.Sources, func(s selection.Source) string { return s.ID })}
	var all []Checked
	check := func(id string, again func(*Checked)) {
		if len(only) == 0 || slices.Contains(only, id) {
			c := Checked{ID: id}
			again(&c)
			all = append(all, c)
		}
	}
	for _, f := range r.Findings {
		check(f.ID, func(c *Checked) { v.finding(c, f) })
	}
	for _, f := range r.Figures {
		check(f.ID, func(c *Checked) { v.figure(c, f) })
	}
	for _, s := range r.Paused {
		check(s.ID, func(c *Checked) { v.paused(c, s) })
	}
	for _, t := range r.Times {
		check(t.ID, func(c *Checked) { v.time(c, t) })
	}
	return all
}

func (c *Checked) differs(form string, args ...any) {
	c.Differs = append(c.Differs, fmt.Sprintf(form, args...))
}

func (c *Checked) complete() bool { return !c.Absent && len(c.Differs) == 0 }

// forEachHistory calls read for every history file that exists and has the recorded checksum. It passes a folder,
// and the path of the file relative to the folder.
func (v *verifying) forEachHistory(c *Checked, source string, all []selection.History, read func(in, file string) error) {
	in := filepath.Join(v.base, filepath.FromSlash(v.sources[source].Dir))
	for _, h := range all {
		sum, err := run.File{}, fs.ErrNotExist
		if filepath.IsLocal(filepath.FromSlash(h.File)) {
			sum, err = run.SumFile(in, h.File)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.Absent = true
			continue
		case err == nil && sum.SHA256 != h.SHA256:
			err = fmt.Errorf("SHA-256 is %s, want %s: the file has changed", sum.SHA256[:12], h.SHA256[:min(12, len(h.SHA256))])
		case err == nil:
			c.Files = append(c.Files, filepath.Join(in, filepath.FromSlash(h.File)))
			err = read(in, h.File)
		}
		if err != nil {
			c.differs("%s: %v", h.File, err)
		}
	}
}

func (v *verifying) judge(c *Checked, source string, all []selection.History, add func(*checker.Verdict)) {
	v.forEachHistory(c, source, all, func(in, name string) error {
		file := filepath.Join(in, filepath.FromSlash(name))
		j, known := v.verdicts[file]
		if !known {
			j.verdict, _, j.err = judge.File(file, judge.Options{})
			v.verdicts[file] = j
		}
		if j.err != nil {
			return fmt.Errorf("judge history: %w", j.err)
		}
		add(j.verdict)
		return nil
	})
}

func (v *verifying) trials(c *Checked, source string, all []selection.History, read func(in string, t *bench.Trial) error) {
	v.forEachHistory(c, source, all, func(in, name string) error {
		t, err := bench.ReadTrial(in, path.Dir(name))
		if err != nil {
			return err
		}
		return read(in, t)
	})
}

func (v *verifying) paused(c *Checked, s selection.PausedHolds) {
	var seen decision.Paused
	v.forEachHistory(c, s.Source, s.Histories, func(in, name string) error {
		one, err := decision.PausesIn(filepath.Join(in, filepath.FromSlash(name)))
		seen.Holds, seen.Overlapped = seen.Holds+one.Holds, seen.Overlapped+one.Overlapped
		return err
	})
	if c.complete() && seen != (decision.Paused{Holds: s.Holds, Overlapped: s.Overlapped}) {
		c.differs("%s: the report says that another client held during %d of %d paused holds, its histories say %d of %d", s.Dir, s.Overlapped, s.Holds, seen.Overlapped, seen.Holds)
	}
}

// time computes the quantiles of acquire times again from the histories, and compares them with the report.
func (v *verifying) time(c *Checked, t selection.RecordedTime) {
	all := hdrhistogram.New(1, int64(time.Hour), 3)
	v.trials(c, t.Source, t.Histories, func(in string, trial *bench.Trial) error {
		again, err := measure.StatsAgain(in, trial)
		if err == nil {
			all.Merge(again.Samples[figures.Uncontended])
		}
		return err
	})
	if c.complete() && !slices.Equal(decision.QuantilesOf(all), t.Quantiles) {
		c.differs("%s of %s: the histories have other quantiles", t.What, t.Lock)
	}
}

func (v *verifying) finding(c *Checked, f selection.Finding) {
	got := selection.Finding{Observed: checker.NotApplicable}
	v.judge(c, f.Source, f.Histories, func(verdict *checker.Verdict) {
		seen := verdict.Finding(f.Property)
		got.Observed = lo.MaxBy([]checker.Observed{got.Observed, seen.Observed}, func(a, b checker.Observed) bool {
			return selection.Gravity(a) > selection.Gravity(b)
		})
		got.Violations += seen.Violations
		got.Operations += verdict.Counts.Operations
		if seen.Observed != checker.NotApplicable {
			got.Trials++
		}
		if seen.Observed == checker.Violated {
			got.ViolatedIn++
		}
	})
	if !c.complete() {
		return
	}
	for _, d := range []struct {
		what         string
		stated, seen any
	}{{"observed", f.Observed, got.Observed}, {"violations", f.Violations, got.Violations}, {"operations", f.Operations, got.Operations},
		{"trials", f.Trials, got.Trials}, {"trials with a violation", f.ViolatedIn, got.ViolatedIn}} {
		if d.stated != d.seen {
			c.differs("%s of %s in %s: the report says %v, its histories say %v", d.what, f.Property, f.Dir, d.stated, d.seen)
		}
	}
}

// figure computes a metric again from the histories and compares it with the report. A metric that cannot be computed from
// histories is read from the result file of the trial.
func (v *verifying) figure(c *Checked, f selection.Figure) {
	var values []float64
	if f.Metric == selection.RecoveryMetric {
		v.judge(c, f.Source, f.Histories, func(verdict *checker.Verdict) {
			for _, took := range verdict.Recoveries {
				values = append(values, float64(took)/float64(f.Point.TTLNS))
			}
		})
		slices.Sort(values)
	} else {
		v.trials(c, f.Source, f.Histories, func(in string, t *bench.Trial) error {
			again, err := measure.Again(in, t, f.Point)
			if value, recorded := lo.Assign(t.Figures, again)[f.Metric]; err == nil && recorded {
				values = append(values, value)
			}
			return err
		})
	}
	c.compare(f, values)
}

// compare compares the values that a report states for a measurement with values recomputed from the histories. It also checks
// that the stated median and confidence interval follow from the stated values.
func (c *Checked) compare(f selection.Figure, values []float64) {
	if again := stats.EstimateOf(f.Estimate.Values, f.Estimate.Blocks); !reflect.DeepEqual(again, f.Estimate) {
		c.differs("%s of %s in %s: the median and its interval are not those of its values", f.Metric, f.Lock, f.Dir)
	}
	stated := f.Estimate.Values
	switch {
	case !c.complete():
		return
	case len(values) != len(stated):
		c.differs("%s of %s in %s: the report has %d values, its histories %d", f.Metric, f.Lock, f.Dir, len(stated), len(values))
		return
	}
	for i := range values {
		if !near(values[i], stated[i]) {
			c.differs("%s of %s in %s, trial %d: the report says %v, its history %v", f.Metric, f.Lock, f.Dir, i+1, stated[i], values[i])
		}
	}
}

// near reports whether two values agree to four significant digits. Times that are stored as multiples of a lease have only
// this precision.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(1, a, b) }
