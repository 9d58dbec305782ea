package bench

import (
	"fmt"
	"maps"
	"slices"

	"lockbench/reports/stats"
)

// Comparisons is the result of comparing two runs or two locks. Each row compares a new value with a base value.
type Comparisons struct {
	Version  int        `json:"lockbench_bench_comparisons"`
	Base     Side       `json:"base"`
	New      Side       `json:"new"`
	Withheld []string   `json:"withheld,omitempty"` // failed self-checks; if there are any, Rows is empty
	Notes    []string   `json:"notes,omitempty"`    // notes on omitted rows, and on differences between the machines
	Rows     []Compared `json:"rows"`               // rows sorted by metric, then by test conditions, then by lock
}

// Side identifies the base or the new measurements: a whole run, or one lock of a run.
type Side struct {
	Run     *Results `json:"-"`
	Dir     string   `json:"dir"`
	Subject string   `json:"subject,omitempty"` // name of the lock; empty for a whole run
	Name    string   `json:"suite"`
	Seed    uint64   `json:"seed"`
}

// Compared holds the comparison of two measurements of one metric, base and new, under one set of test conditions. The
// field Comparison holds no statistics if either measurement violates exclusion.
type Compared struct {
	stats.Comparison
	NewUnsafe  *Violation `json:"new_unsafe,omitempty"`
	BaseUnsafe *Violation `json:"base_unsafe,omitempty"`
	newRow     *Row
	baseRow    *Row
}

// Estimates returns the two compared values with their confidence intervals: base first, then new.
func (c Compared) Estimates() (base, new stats.Estimate) {
	return c.baseRow.Estimates[c.Metric], c.newRow.Estimates[c.Metric]
}

// Unsafe reports whether the base or the new measurements violate exclusion.
func (c Compared) Unsafe() bool { return c.NewUnsafe != nil || c.BaseUnsafe != nil }

// Verdict returns "better" or "worse". It returns "~" if the difference may be noise. It returns "differs" if a higher
// value of the metric is neither better nor worse.
func (c Compared) Verdict() string {
	m, _ := FindMetric(c.Metric)
	up := c.Ratio > 1 || c.Ratio == 0 && c.MedA > c.MedB
	switch {
	case c.Unsafe() || !c.Differs:
		return "~"
	case m.Better == 0:
		return "differs"
	case up == (m.Better > 0):
		return "better"
	}
	return "worse"
}

// DefaultMetrics returns the metrics that are compared by default.
func DefaultMetrics() []Metric {
	return filter(Metrics(), func(m Metric) bool { return m.Primary || m.Name == "handoff_p50" || m.Name == "contended_p99" })
}

// CompareRuns compares each lock with the same lock in another run, under each set of conditions that both runs
// measured. Trials are not paired. If all is true, baselines and self-checks are compared too.
func CompareRuns(base, new *Results, metrics []Metric, all bool) *Comparisons {
	c := newComparisons(base, new, "", "")
	if len(c.Withheld) > 0 {
		return c
	}
	c.noteMachines(base, new)
	var pairs [][2]*Row // pairs of rows to compare: the new row, then the base row
	for i := range base.Rows {
		b := &base.Rows[i]
		n, ok := new.Row(b.Subject, b.Point)
		if !ok || b.subject.Role != Lock && !all {
			continue
		}
		if why := b.unlike(n); why != "" {
			c.Notes = append(c.Notes, fmt.Sprintf("%s at %s is left out: %s", b.Subject, b.Point, why))
			continue
		}
		pairs = append(pairs, [2]*Row{n, b})
	}
	c.fill(metrics, pairs, stats.Unpaired)
	return c
}

// CompareSubjects compares two locks of one run. It pairs the trials that are in the same block. A block is one round
// of all measurements.
func CompareSubjects(r *Results, base, new string, metrics []Metric) *Comparisons {
	c := newComparisons(r, r, base, new)
	if len(c.Withheld) > 0 {
		return c
	}
	var pairs [][2]*Row
	for _, p := range r.Plan.Points {
		n, okN := r.Row(new, p.ID)
		b, okB := r.Row(base, p.ID)
		if okN && okB {
			pairs = append(pairs, [2]*Row{n, b})
		}
	}
	c.fill(metrics, pairs, r.blockwise)
	return c
}

func (r *Results) blockwise(a, b stats.Estimate) stats.Comparison {
	return stats.Paired(a, b, r.Plan.Seed)
}

// newComparisons returns a Comparisons whose field Rows is empty. It copies the failed self-checks of both runs to the
// field Withheld, because they prevent any comparison.
func newComparisons(base, new *Results, baseSubject, newSubject string) *Comparisons {
	side := func(r *Results, subject string) Side {
		return Side{Run: r, Dir: r.Dir, Subject: subject, Name: r.Plan.Name, Seed: r.Plan.Seed}
	}
	c := &Comparisons{Version: Version, Base: side(base, baseSubject), New: side(new, newSubject), Rows: []Compared{}}
	for _, r := range slices.Compact([]*Results{base, new}) {
		for _, why := range r.Withheld {
			c.Withheld = append(c.Withheld, r.Dir+": "+why)
		}
	}
	return c
}

func (c *Comparisons) noteMachines(base, new *Results) {
	b, n := base.Plan.Environment, new.Plan.Environment
	for _, part := range []struct{ what, base, new string }{
		{"processor", fmt.Sprintf("%d x %s", b.Cores, b.CPU), fmt.Sprintf("%d x %s", n.Cores, n.CPU)},
		{"kernel", b.OS + " " + b.Kernel, n.OS + " " + n.Kernel},
		{"Go", b.Go, n.Go},
		{"servers", base.Plan.Servers + " " + b.Server, new.Plan.Servers + " " + n.Server},
	} {
		if part.base != part.new {
			c.Notes = append(c.Notes, fmt.Sprintf("the two runs differ in more than what is compared: %s %s, then %s", part.what, part.base, part.new))
		}
	}
}

// unlike returns the reason why rows of two different runs cannot be compared, or "" if they can.
func (r *Row) unlike(other *Row) string {
	a, b, p := r.subject, other.subject, *r.point
	p.Section = other.point.Section // ignore the section: it is only a heading, which may differ between the runs
	switch {
	case p != *other.point:
		return "the conditions are not the same in both runs"
	case a.Lock != b.Lock || a.Deployment != b.Deployment || a.Role != b.Role || !maps.Equal(a.Params, b.Params):
		return "the name stands for another lock, or for other parameters, in the other run"
	}
	return ""
}

func (c *Comparisons) fill(metrics []Metric, pairs [][2]*Row, compare func(a, b stats.Estimate) stats.Comparison) {
	for _, m := range metrics {
		for _, pair := range pairs {
			n, b := pair[0], pair[1]
			if n.Estimates[m.Name].N == 0 || b.Estimates[m.Name].N == 0 {
				continue
			}
			if n.selective(m.Name) || b.selective(m.Name) {
				c.noteStarving(m, n, b)
				continue
			}
			row := Compared{Comparison: stats.Comparison{P: 1, Holm: 1}, NewUnsafe: n.Unsafe, BaseUnsafe: b.Unsafe, newRow: n, baseRow: b}
			if !row.Unsafe() {
				row.Comparison = compare(n.Estimates[m.Name], b.Estimates[m.Name])
			}
			row.A, row.B, row.Point, row.Metric = n.Subject, b.Subject, n.Point, m.Name
			c.Rows = append(c.Rows, row)
		}
	}
	var together []*stats.Comparison
	for i := range c.Rows {
		if !c.Rows[i].Unsafe() {
			together = append(together, &c.Rows[i].Comparison)
		}
	}
	stats.Holm(together)
	c.noteTooFew(len(together))
}

// noteStarving adds a note for each lock that starves clients. The note says that the metric, which covers only some of the clients, is
// not compared.
func (c *Comparisons) noteStarving(m Metric, rows ...*Row) {
	for _, row := range rows {
		if row.Starving != "" {
			c.Notes = appendUnique(c.Notes, fmt.Sprintf("%s of %s at %s is left out: %s starves clients (%s)", m.Title, row.Subject, row.Point, row.Subject, row.Starving))
		}
	}
}

// noteTooFew adds a note if the number of trials is too small to show any difference.
func (c *Comparisons) noteTooFew(shown int) {
	most, enough := 0, false
	for _, row := range c.Rows {
		if row.Unsafe() {
			continue
		}
		n, m := len(row.newRow.Estimates[row.Metric].Values), len(row.baseRow.Estimates[row.Metric].Values)
		most = max(most, min(n, m))
		enough = enough || stats.SmallestP(row.Comparison, n, m)*float64(shown) < stats.Alpha
	}
	if shown > 0 && !enough {
		c.Notes = append(c.Notes, fmt.Sprintf("with %d trials a side and %d rows no difference could be told from noise, however large: measure more trials or compare fewer metrics",
			most, shown))
	}
}
