package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// share is how the critical sections of a trial fell to its clients: from the one with the fewest to the one with the
// most, each as a multiple of an even share; the median over the trials, place by place.
func shares(trials []*Trial) []float64 {
	var sorted [][]float64
	for _, t := range trials {
		sum := 0
		for _, n := range t.Shares {
			sum += n
		}
		if sum == 0 {
			continue
		}
		var part []float64
		for _, n := range t.Shares {
			part = append(part, float64(n)*float64(len(t.Shares))/float64(sum))
		}
		slices.Sort(part)
		if len(sorted) == 0 || len(part) == len(sorted[0]) {
			sorted = append(sorted, part)
		}
	}
	if len(sorted) == 0 {
		return nil
	}
	all := make([]float64, len(sorted[0]))
	for i := range all {
		var values []float64
		for _, part := range sorted {
			values = append(values, part[i])
		}
		all[i] = stats.Median(values)
	}
	return all
}

func (v *view) fairnessCharts() []charts.Chart {
	var all []charts.Chart
	for _, p := range v.compared() {
		if !p.Contended() {
			continue
		}
		if c, ok := v.fairnessChart(p); ok {
			all = append(all, c)
		}
	}
	return all
}

// panel is one lock's small drawing among others of the same scale.
type panel struct {
	subject string
	shares  []float64
	words   string
}

func (v *view) fairnessChart(p Point) (charts.Chart, bool) {
	names, left := v.charted(p.ID)
	var panels []panel
	for _, name := range names {
		s := shares(v.trials[place{name, p.ID}])
		if len(s) < 2 {
			continue
		}
		words := fmt.Sprintf("%s to %s", format.TrimZeros(format.Significant(s[0])), format.Times(s[len(s)-1]))
		panels = append(panels, panel{name, s, words})
	}
	if len(panels) == 0 {
		return charts.Chart{}, false
	}
	c := charts.Chart{Open: true, ID: charts.Slug("fairness", p.ID), Name: v.name(p), Note: left, Takeaway: v.fairnessTakeaway(p, panels)}
	c.Head, c.Rows = v.fairnessTable(p, panels)
	c.Draw(v.drawShares(panels), "Critical sections by client, "+describe(p))
	return c, true
}

func (v *view) drawShares(panels []panel) charts.Grid {
	high := 2.0
	for _, p := range panels {
		high = max(high, p.shares[len(p.shares)-1])
	}
	g := charts.Grid{Columns: 4}
	for _, p := range panels {
		style := v.styles[p.subject]
		line := charts.Line{Style: charts.Style{Color: style.Color}, Area: true} // small: its marker and its name tell it apart
		for i, share := range p.shares {
			line.Points = append(line.Points, charts.Point{X: float64(i), Y: share})
		}
		g.Panels = append(g.Panels, charts.Lines{
			Title: p.subject, Marker: &style, Height: 140, Lines: []charts.Line{line}, Rules: []charts.Rule{{At: 1}},
			X: charts.Axis{Label: p.words, Ticks: []charts.Tick{}},
			Y: charts.Axis{High: high * 1.04, Ticks: []charts.Tick{{At: 0, Text: "0"}, {At: 1, Text: "1"}, {At: math.Floor(high), Text: format.TrimZeros(format.Significant(math.Floor(high)))}}},
		})
	}
	return g
}

func (v *view) fairnessTable(p Point, panels []panel) (head []string, rows [][]string) {
	head = []string{"lock", "fewest × even", "most × even"}
	var shown []Metric
	for _, m := range Metrics() {
		if m.Group == "fairness" {
			shown, head = append(shown, m), append(head, heading(m))
		}
	}
	for _, q := range panels {
		name := q.subject
		row := []string{name, format.Significant(q.shares[0]), format.Significant(q.shares[len(q.shares)-1])}
		for _, m := range shown {
			text := format.None
			if e, ok := v.estimate(name, p.ID, m.Name); ok {
				text = metricText(m, e.Median)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (v *view) fairnessTakeaway(p Point, panels []panel) string {
	even, uneven := panels[0], panels[0]
	spread := func(p panel) float64 { return p.shares[0] / max(p.shares[len(p.shares)-1], 1e-9) }
	for _, p := range panels[1:] {
		if spread(p) > spread(even) {
			even = p
		}
		if spread(p) < spread(uneven) {
			uneven = p
		}
	}
	text := fmt.Sprintf("%s shares most evenly: the client with the fewest gets %s of what the one with the most does", even.subject, percent(spread(even)))
	if uneven.subject != even.subject {
		text += fmt.Sprintf("; with %s it gets %s", uneven.subject, percent(spread(uneven)))
	}
	if e, ok := v.estimate(uneven.subject, p.ID, "starved"); ok && e.Median > 0 {
		text += fmt.Sprintf(", and %s of %d clients get nothing", format.TrimZeros(format.Significant(e.Median)), p.Clients)
	}
	return text + "."
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 0, 64) + " %" }
