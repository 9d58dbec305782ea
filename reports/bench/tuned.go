package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// tunedSuffix ends the name of a subject that is another one with better settings.
const tunedSuffix = "-tuned"

type tunedRow struct {
	Lock, Where       string
	Params            string
	Before, After     string
	Ratio, Interval   string
	Differs, Violated bool
}

// tunedRows compares X-tuned with X, by goodput, wherever both were measured; all rows are corrected together.
func (v *view) tunedRows() []tunedRow {
	var rows []tunedRow
	var together []*stats.Comparison
	for _, p := range v.compared() {
		for _, s := range v.Plan.Subjects {
			name, ok := strings.CutSuffix(s.Name, tunedSuffix)
			tuned, measured := v.Row(s.Name, p.ID)
			plain := v.rowAlike(name, p)
			if !ok || !measured || plain == nil {
				continue
			}
			c := v.paired(tuned, plain, rankedBy)
			together = append(together, &c)
			rows = append(rows, tunedRow{
				Lock: name, Where: v.name(p), Params: s.Settings(), Violated: tuned.Unsafe != nil || plain.Unsafe != nil,
				Before: format.Significant(c.MedB), After: format.Significant(c.MedA), Ratio: ratioText(c), Interval: format.Span(c.Low, c.High),
			})
		}
	}
	stats.Holm(together)
	for i, c := range together {
		rows[i].Differs = c.Differs
	}
	return rows
}

// rowAlike returns a subject's row at a point, or at one of another section with the same conditions.
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

// Settings writes the parameters in a fixed order.
func (s Subject) Settings() string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(s.Params)) {
		all = append(all, k+"="+s.Params[k])
	}
	return strings.Join(all, " ")
}

func tunedTakeaway(rows []tunedRow) string {
	better, worse := 0, 0
	for _, r := range rows {
		switch {
		case r.Violated || !r.Differs:
		case strings.HasPrefix(r.Ratio, "0"):
			worse++
		default:
			better++
		}
	}
	return fmt.Sprintf("Tuning raised goodput in %d of %s, and lowered it in %d; in the rest the difference may be noise.", better, format.Plural(len(rows), "comparison"), worse)
}

func (r tunedRow) words() string {
	ratio := strings.TrimSpace(r.Ratio + " " + r.Interval)
	switch {
	case r.Violated:
		return "exclusion violated"
	case !r.Differs:
		return "no difference that is more than noise (" + ratio + ")"
	}
	return r.Before + " to " + r.After + " /s, " + ratio
}
