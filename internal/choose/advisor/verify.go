package advisor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/internal/choose/decision"
	"lockbench/internal/measure"
	"lockbench/reports/bench"
	"lockbench/reports/stats"
)

// Checked is one finding or figure of a report, held to the histories that it rests on.
type Checked struct {
	ID      string
	Absent  bool     // the histories, or some of them, are not there: nothing can be said
	Differs []string // what came out otherwise, a sentence each
	Files   []string // histories that were judged or measured again
}

// verifying judges and measures histories, each once, whatever rests on it.
type verifying struct {
	base     string
	sources  map[string]decision.Source
	verdicts map[string]judged
}

type judged struct {
	verdict *checker.Verdict
	err     error
}

// Verify judges and measures again what a report rests on: its folders are seen from base. Only those with the given ids,
// where there are any.
func Verify(base string, r *decision.Report, only ...string) []Checked {
	v := &verifying{base: base, sources: map[string]decision.Source{}, verdicts: map[string]judged{}}
	for _, s := range r.Sources {
		v.sources[s.ID] = s
	}
	var all []Checked
	wanted := func(id string) bool { return len(only) == 0 || slices.Contains(only, id) }
	for _, f := range r.Findings {
		if wanted(f.ID) {
			all = append(all, v.finding(f))
		}
	}
	for _, f := range r.Figures {
		switch {
		case !wanted(f.ID):
		case f.Metric == decision.RecoveryMetric:
			all = append(all, v.recovery(f))
		default:
			all = append(all, v.figure(f))
		}
	}
	for _, s := range r.Stood {
		if wanted(s.ID) {
			all = append(all, v.stood(s))
		}
	}
	for _, t := range r.Times {
		if wanted(t.ID) {
			all = append(all, v.time(t))
		}
	}
	return all
}

// stood counts again what pauses of processes came to.
func (v *verifying) stood(s decision.StoodStill) Checked {
	c := Checked{ID: s.ID}
	var seen decision.Paused
	for _, h := range s.Histories {
		file, ok := v.same(&c, s.Source, h)
		if !ok {
			continue
		}
		one, err := decision.PausesIn(file)
		if err != nil {
			c.Differs = append(c.Differs, fmt.Sprintf("%s cannot be read: %v", h.File, err))
		}
		seen.Holds, seen.Doubled = seen.Holds+one.Holds, seen.Doubled+one.Doubled
	}
	if !c.Absent && len(c.Differs) == 0 && (seen.Holds != s.Holds || seen.Doubled != s.Doubled) {
		c.Differs = append(c.Differs, fmt.Sprintf("%s: the report says that %d of %d paused holds were doubled, its histories say %d of %d", s.Dir, s.Doubled, s.Holds, seen.Doubled, seen.Holds))
	}
	return c
}

// time looks that the histories are those of which a time is told, and that as many acquires are in them.
func (v *verifying) time(t decision.RecordedTime) Checked {
	c := Checked{ID: t.ID}
	all := hdrhistogram.New(1, int64(time.Hour), 3)
	for _, h := range t.Histories {
		if _, ok := v.same(&c, t.Source, h); !ok {
			continue
		}
		dir := v.folder(t.Source)
		trial, err := bench.ReadTrial(dir, path.Dir(h.File))
		var one *hdrhistogram.Histogram
		if err == nil {
			one, err = measure.UncontendedAgain(dir, trial)
		}
		if err != nil {
			c.Differs = append(c.Differs, fmt.Sprintf("%s: %v", h.File, err))
			continue
		}
		all.Merge(one)
	}
	if again := decision.QuantilesOf(all); !c.Absent && len(c.Differs) == 0 && !slices.Equal(again, t.Quantiles) {
		c.Differs = append(c.Differs, fmt.Sprintf("%s of %s: the histories have other quantiles", t.What, t.Lock))
	}
	return c
}

// finding judges the histories of a property again.
func (v *verifying) finding(f decision.Finding) Checked {
	c := Checked{ID: f.ID}
	got := decision.Finding{Observed: checker.NotApplicable}
	for _, h := range f.Histories {
		verdict, ok := v.judge(&c, f.Source, h)
		if !ok {
			continue
		}
		seen := verdict.Finding(f.Property)
		got.Observed = worse(got.Observed, seen.Observed)
		got.Violations += seen.Violations
		got.Operations += verdict.Counts.Operations
		if seen.Observed != checker.NotApplicable {
			got.Trials++
		}
		if seen.Observed == checker.Violated {
			got.ViolatedIn++
		}
	}
	if c.Absent || len(c.Differs) > 0 {
		return c
	}
	for _, d := range []struct {
		what         string
		stated, seen any
	}{{"observed", f.Observed, got.Observed}, {"violations", f.Violations, got.Violations}, {"operations", f.Operations, got.Operations},
		{"trials", f.Trials, got.Trials}, {"trials with a violation", f.ViolatedIn, got.ViolatedIn}} {
		if d.stated != d.seen {
			c.Differs = append(c.Differs, fmt.Sprintf("%s of %s in %s: the report says %v, its histories say %v", d.what, f.Property, f.Dir, d.stated, d.seen))
		}
	}
	return c
}

// worse is what two trials come to: violated if one is, else undecided if one is, else held if one did.
func worse(a, b checker.Observed) checker.Observed {
	rank := func(o checker.Observed) int {
		return slices.Index([]checker.Observed{checker.NotApplicable, checker.Held, checker.Undecided, checker.Violated}, o)
	}
	if rank(a) > rank(b) {
		return a
	}
	return b
}

// judge judges a history again, if it is the one that the report speaks of.
func (v *verifying) judge(c *Checked, source string, h decision.History) (*checker.Verdict, bool) {
	file, ok := v.same(c, source, h)
	if !ok {
		return nil, false
	}
	j, known := v.verdicts[file]
	if !known {
		j.verdict, _, j.err = judge.File(file, judge.Options{})
		v.verdicts[file] = j
	}
	if j.err != nil {
		c.Differs = append(c.Differs, fmt.Sprintf("%s cannot be judged: %v", h.File, j.err))
		return nil, false
	}
	return j.verdict, true
}

// same looks that a history is there, and that it is the one that was summed.
func (v *verifying) same(c *Checked, source string, h decision.History) (string, bool) {
	if h.File == "" || !filepath.IsLocal(filepath.FromSlash(h.File)) {
		c.Absent = true
		return "", false
	}
	file := filepath.Join(v.folder(source), filepath.FromSlash(h.File))
	sum, err := sumOf(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Absent = true
		return "", false
	case err != nil:
		c.Differs = append(c.Differs, fmt.Sprintf("%s cannot be read: %v", h.File, err))
		return "", false
	case sum != h.SHA256:
		c.Differs = append(c.Differs, fmt.Sprintf("%s is another file than the report speaks of: its SHA-256 is %s, not %s", h.File, sum[:12], h.SHA256[:min(12, len(h.SHA256))]))
		return "", false
	}
	c.Files = append(c.Files, file)
	return file, true
}

func (v *verifying) folder(source string) string {
	return filepath.Join(v.base, filepath.FromSlash(v.sources[source].Dir))
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// recovery reads again how long it took from the death of a holder to the next grant.
func (v *verifying) recovery(f decision.Figure) Checked {
	c := Checked{ID: f.ID}
	var times []float64
	for _, h := range f.Histories {
		if verdict, ok := v.judge(&c, f.Source, h); ok {
			for _, took := range verdict.Recoveries {
				times = append(times, float64(took)/float64(f.Point.TTLNS))
			}
		}
	}
	slices.Sort(times)
	return c.compare(f, times)
}

// figure works a metric of a bench out again. What was counted beside the record is taken from the trials' files.
func (v *verifying) figure(f decision.Figure) Checked {
	c := Checked{ID: f.ID}
	dir := v.folder(f.Source)
	var values []float64
	for _, h := range f.Histories {
		if _, ok := v.same(&c, f.Source, h); !ok {
			continue
		}
		t, err := bench.ReadTrial(dir, filepath.ToSlash(filepath.Dir(filepath.FromSlash(h.File))))
		if err == nil {
			var again bench.Figures
			if again, err = measure.Again(dir, t, f.Point); err == nil {
				value, recorded := again[f.Metric]
				if !recorded {
					value, recorded = t.Figures[f.Metric]
				}
				if recorded {
					values = append(values, value)
				}
			}
		}
		if err != nil {
			c.Differs = append(c.Differs, fmt.Sprintf("%s: %v", h.File, err))
		}
	}
	return c.compare(f, values)
}

// compare holds values to those of a figure, and the figure to itself.
func (c Checked) compare(f decision.Figure, values []float64) Checked {
	if again := stats.EstimateOf(f.Estimate.Values, f.Estimate.Blocks); !reflect.DeepEqual(again, f.Estimate) {
		c.Differs = append(c.Differs, fmt.Sprintf("%s of %s in %s: the median and its interval are not those of its values", f.Metric, f.Lock, f.Dir))
	}
	if c.Absent || len(c.Differs) > 0 {
		return c
	}
	stated := f.Estimate.Values
	if len(values) != len(stated) {
		c.Differs = append(c.Differs, fmt.Sprintf("%s of %s in %s: the report has %d values, its histories %d", f.Metric, f.Lock, f.Dir, len(stated), len(values)))
		return c
	}
	for i := range values {
		if diff := cmp.Compare(values[i], stated[i]); diff != 0 && !near(values[i], stated[i]) {
			c.Differs = append(c.Differs, fmt.Sprintf("%s of %s in %s, trial %d: the report says %v, its history %v", f.Metric, f.Lock, f.Dir, i+1, stated[i], values[i]))
		}
	}
	return c
}

// near allows for the four digits that multiples of a lease are kept with.
func near(a, b float64) bool {
	d := a - b
	return max(d, -d) <= 1e-4*max(1, a, b)
}
