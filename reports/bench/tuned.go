package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/reports/format"
)

// tunedSuffix is the suffix for the name of a lock with tuned settings, as in "redsync-tuned".
const tunedSuffix = "-tuned"

// tunedRow compares the goodput of a lock with tuned and with default settings.
type tunedRow struct {
	Compared
	Where, Params, Before, After, Ratio, Interval string
}

// tunedRows compares the tuned and the default settings of each lock, under all conditions measured for both. Holm's
// method corrects the p-values.
func (v *view) tunedRows() (rows []tunedRow) {
	var pairs [][2]*Row
	for _, p := range v.compared() {
		for _, s := range v.Plan.Subjects {
			name, ok := strings.CutSuffix(s.Name, tunedSuffix)
			tuned, measured := v.Row(s.Name, p.ID)
			if plain := v.rowAlike(name, p); ok && measured && plain != nil {
				pairs = append(pairs, [2]*Row{tuned, plain})
			}
		}
	}
	goodput, _ := FindMetric(rankedBy)
	c := &Comparisons{}
	c.fill([]Metric{goodput}, pairs, v.blockwise)
	for _, row := range c.Rows {
		before, after := row.Estimates()
		s, _ := v.Plan.Subject(row.A)
		p, _ := v.Plan.Point(row.Point)
		rows = append(rows, tunedRow{row, v.name(p), s.Settings(), format.Significant(before.Median), format.Significant(after.Median),
			ratioText(row.Comparison), format.Span(row.Low, row.High)})
	}
	return rows
}

// rowAlike returns the results of a lock under one set of conditions, or nil if no results exist. The results may come
// from another section of the suite with the same conditions.
func (v *view) rowAlike(subject string, p Point) *Row {
	row, ok := v.Row(subject, p.ID)
	alike := p
	for _, q := range v.compared() {
		alike.ID, alike.Section, alike.DurationNS = q.ID, q.Section, q.DurationNS
		if !ok && alike == q {
			row, ok = v.Row(subject, q.ID)
		}
	}
	return row
}

// Settings returns the parameters as text, sorted by name.
func (s Subject) Settings() string {
	set := func(k string) string { return k + "=" + s.Params[k] }
	return strings.Join(collect(slices.Sorted(maps.Keys(s.Params)), set), " ")
}

func tunedTakeaway(rows []tunedRow) string {
	count := map[string]int{} // number of comparisons by verdict
	for _, r := range rows {
		count[r.Verdict()]++
	}
	return fmt.Sprintf("Tuning raised goodput in %d of %s, and lowered it in %d; in the rest the difference may be noise.",
		count["better"], format.Plural(len(rows), "comparison"), count["worse"])
}

func (r tunedRow) words() string {
	ratio := strings.TrimSpace(r.Ratio + " " + r.Interval)
	switch {
	case r.Unsafe():
		return "exclusion violated"
	case !r.Differs:
		return "no difference that is more than noise (" + ratio + ")"
	}
	return r.Before + " to " + r.After + " /s, " + ratio
}
