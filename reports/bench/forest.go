package bench

import (
	"fmt"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// forestCharts are, for each point, how far the locks stay behind the best.
func (v *view) forestCharts() []charts.Chart {
	var all []charts.Chart
	for _, p := range v.compared() {
		if c, ok := v.forestChart(p); ok {
			all = append(all, c)
		}
	}
	return all
}

func (v *view) forestChart(p Point) (charts.Chart, bool) {
	order := v.ranked(p.ID)
	if len(order) < 2 || order[1].ToBest.Ratio <= 0 {
		return charts.Chart{}, false
	}
	best, rest := order[0].Subject, order[1:]
	_, left := v.charted(p.ID)
	c := charts.Chart{ID: charts.Slug("forest", p.ID), Name: v.name(p), Note: left, Takeaway: forestTakeaway(best, rest)}
	if text := v.powerless(p); text != "" {
		c.Takeaway = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	c.Head = []string{"lock", "ratio", "95 % interval", "pairs", "p", "p, corrected", "differs"}
	for _, r := range rest {
		t := r.ToBest
		c.Rows = append(c.Rows, []string{r.Subject, ratioText(t), orNone(format.Span(t.Low, t.High)), fmt.Sprint(t.Pairs), probability(t.P), probability(t.Holm), yesNo(t.Differs)})
	}
	c.Draw(drawForest(best, rest), "Goodput as a multiple of that of "+best+", "+describe(p))
	return c, true
}

func orNone(s string) string {
	if s == "" {
		return format.None
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "~"
}

func ratioText(t stats.Comparison) string {
	if t.Ratio <= 0 {
		return format.None
	}
	return format.Times(t.Ratio)
}

func probability(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// drawForest has a full diamond for what differs from the best, and a hollow circle for what may be noise.
func drawForest(best string, rest []Ranked) charts.Rows {
	c := charts.Rows{Names: true, Texts: true, X: charts.Axis{Log: true, Unit: "×"}, Rules: []charts.Rule{{At: 1, Text: "as much as " + best}}}
	for _, r := range rest {
		t := r.ToBest
		row := charts.Row{Name: r.Subject, Text: "no ratio", Style: charts.Style{Color: charts.Ink}}
		if t.Ratio > 0 {
			row.Text = ratioText(t) + " " + orNone(format.Span(t.Low, t.High))
			mark := charts.Mark{At: t.Ratio, Class: "differs", Style: charts.Style{Marker: charts.Diamond}}
			if !t.Differs {
				mark, row.Text = charts.Mark{At: t.Ratio, Class: "noise"}, row.Text+" ~"
			}
			row.Marks, row.Low, row.High = []charts.Mark{mark}, t.Low, t.High
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

func forestTakeaway(best string, rest []Ranked) string {
	var level, behind []string
	for _, r := range rest {
		if r.ToBest.Differs {
			behind = append(behind, r.Subject)
		} else {
			level = append(level, r.Subject)
		}
	}
	if len(behind) == 0 {
		return fmt.Sprintf("None can be told apart from %s: the order may be noise.", best)
	}
	next := rest[len(level)].ToBest
	for _, r := range rest {
		if r.ToBest.Differs {
			next = r.ToBest
			break
		}
	}
	text := fmt.Sprintf("Of those that differ from %s, %s comes nearest, with %s of its goodput", best, next.A, ratioText(next))
	if len(level) > 0 {
		text += "; not told apart from it: " + format.Joined(level)
	}
	return strings.TrimSpace(text) + "."
}
