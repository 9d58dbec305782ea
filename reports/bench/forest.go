package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

func (v *view) forestChart(p Point) (charts.Chart, bool) {
	order := v.ranked(p.ID)
	if len(order) < 2 || order[1].ToBest.Ratio <= 0 {
		return charts.Chart{}, false
	}
	best, rest := order[0].Subject, order[1:]
	_, left := v.charted(p.ID)
	c := charts.Chart{
		ID: charts.Slug("forest", p.ID), Name: v.name(p), Note: left, Takeaway: forestTakeaway(best, rest),
		Head: []string{"lock", "ratio", "95 % interval", "pairs", "p", "p, corrected", "differs"},
	}
	if text := v.powerless(p); text != "" {
		c.Takeaway = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	for _, r := range rest {
		t := r.ToBest
		differs := map[bool]string{true: "yes", false: "~"}[t.Differs]
		c.Rows = append(c.Rows, []string{r.Subject, ratioText(t), ratioSpan(t), fmt.Sprint(t.Pairs), probability(t.P), probability(t.Holm), differs})
	}
	c.Draw(drawForest(best, rest), "Goodput as a multiple of that of "+best+", "+describe(p))
	return c, true
}

func ratioText(t stats.Comparison) string {
	if t.Ratio <= 0 {
		return format.None
	}
	return format.Times(t.Ratio)
}

func ratioSpan(t stats.Comparison) string { return cmp.Or(format.Span(t.Low, t.High), format.None) }

func probability(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// drawForest has a full diamond for a lock that differs from the best, and a hollow circle for one that may not.
func drawForest(best string, rest []Ranked) charts.Rows {
	c := charts.Rows{Names: true, Texts: true, X: charts.Axis{Log: true, Unit: "×"}, Rules: []charts.Rule{{At: 1, Text: "as much as " + best}}}
	for _, r := range rest {
		t := r.ToBest
		row := charts.Row{Name: r.Subject, Text: "no ratio", Style: charts.Style{Color: charts.Ink}}
		if t.Ratio > 0 {
			mark, noise := charts.Mark{At: t.Ratio, Class: "differs", Style: charts.Style{Marker: charts.Diamond}}, ""
			if !t.Differs {
				mark, noise = charts.Mark{At: t.Ratio, Class: "noise"}, " ~"
			}
			row.Marks, row.Low, row.High, row.Text = []charts.Mark{mark}, t.Low, t.High, ratioText(t)+" "+ratioSpan(t)+noise
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

func forestTakeaway(best string, rest []Ranked) string {
	next, any := find(rest, func(r Ranked) bool { return r.ToBest.Differs })
	if !any {
		return fmt.Sprintf("None can be told apart from %s: the order may be noise.", best)
	}
	text := fmt.Sprintf("Of those that differ from %s, %s comes nearest, with %s of its goodput", best, next.Subject, ratioText(next.ToBest))
	if level := namesOf(filter(rest, func(r Ranked) bool { return !r.ToBest.Differs })); len(level) > 0 {
		text += "; not told apart from it: " + format.Joined(level)
	}
	return text + "."
}

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
