package bench

import (
	"cmp"
	"fmt"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

func (d drawing) forest() []charts.Chart {
	order := d.ranked(d.ID)
	if len(order) < 2 || order[1].ToBest.Ratio <= 0 {
		return nil
	}
	best, rest := order[0].Subject, order[1:]
	c := d.chart("forest")
	c.Takeaway, c.Head = forestTakeaway(best, rest), []string{"lock", "ratio", "95 % interval", "pairs", "p", "p, corrected", "differs"}
	if text := d.powerless(d.Point); text != "" {
		c.Takeaway = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	for _, r := range rest {
		t := r.ToBest
		differs := map[bool]string{true: "yes", false: "~"}[t.Differs]
		c.Rows = append(c.Rows, []string{r.Subject, ratioText(t), ratioSpan(t), fmt.Sprint(t.Pairs), probability(t.P), probability(t.Holm), differs})
	}
	c.Draw(drawForest(best, rest), "Goodput as a multiple of that of "+best+", "+describe(d.Point))
	return []charts.Chart{c}
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

// drawForest draws a full diamond for a lock that differs from the best, and a hollow circle for the others.
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
