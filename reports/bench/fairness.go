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

// shares returns the clients' shares of the sections in rising order, as multiples of an even one: medians over the trials.
func shares(trials []*Trial) []float64 {
	var places [][]float64 // by place: the part in each trial
	for _, t := range trials {
		sum := total(t.Shares)
		if sum == 0 || places != nil && len(t.Shares) != len(places) {
			continue
		}
		if places == nil {
			places = make([][]float64, len(t.Shares))
		}
		for i, n := range slices.Sorted(slices.Values(t.Shares)) {
			places[i] = append(places[i], float64(n)*float64(len(t.Shares))/float64(sum))
		}
	}
	var all []float64
	for _, parts := range places {
		all = append(all, stats.Median(parts))
	}
	return all
}

func (v *view) fairnessChart(p Point) (charts.Chart, bool) {
	names, left := v.charted(p.ID)
	parts := map[string][]float64{}
	for _, name := range names {
		parts[name] = shares(v.counted(name, p.ID))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return len(parts[name]) < 2 })
	if len(names) == 0 || !p.Contended() {
		return charts.Chart{}, false
	}
	c := charts.Chart{Open: true, ID: charts.Slug("fairness", p.ID), Name: v.name(p), Note: left, Takeaway: v.fairnessTakeaway(p, names, parts)}
	columns := []column{
		{"fewest × even", func(lock string) string { return format.Significant(parts[lock][0]) }},
		{"most × even", func(lock string) string { return format.Significant(slices.Max(parts[lock])) }},
	}
	for _, m := range Metrics() {
		if m.Group == "fairness" {
			columns = append(columns, v.metricColumn(m, p, func(e stats.Estimate) string { return metricText(m, e.Median) }))
		}
	}
	c.Head, c.Rows = chartTable(names, columns)
	c.Draw(v.drawShares(names, parts), "Critical sections by client, "+describe(p))
	return c, true
}

func (v *view) drawShares(names []string, parts map[string][]float64) charts.Grid {
	high := 2.0
	for _, name := range names {
		high = max(high, slices.Max(parts[name]))
	}
	y := charts.Axis{High: high * 1.04}
	for _, at := range []float64{0, 1, math.Floor(high)} {
		y.Ticks = append(y.Ticks, charts.Tick{At: at, Text: format.Short(at)})
	}
	g := charts.Grid{Columns: 4}
	for _, name := range names {
		s, style := parts[name], v.styles[name]
		line := charts.Line{Style: charts.Style{Color: style.Color}, Area: true} // small: its marker and its name tell it apart
		for i, share := range s {
			line.Points = append(line.Points, charts.Point{X: float64(i), Y: share})
		}
		words := fmt.Sprintf("%s to %s", format.Short(s[0]), format.Times(s[len(s)-1]))
		g.Panels = append(g.Panels, charts.Lines{
			Title: name, Marker: &style, Height: 140, Lines: []charts.Line{line}, Rules: []charts.Rule{{At: 1}},
			X: charts.Axis{Label: words, Ticks: []charts.Tick{}}, Y: y,
		})
	}
	return g
}

func (v *view) fairnessTakeaway(p Point, names []string, parts map[string][]float64) string {
	uneven, even, _ := extremes(names, func(lock string) (float64, bool) {
		s := parts[lock]
		return s[0] / max(s[len(s)-1], 1e-9), true
	})
	percent := func(part float64) string { return strconv.FormatFloat(100*part, 'f', 0, 64) + " %" }
	text := fmt.Sprintf("%s shares most evenly: the client with the fewest gets %s of what the one with the most does", even.lock, percent(even.value))
	if uneven != even {
		text += fmt.Sprintf("; with %s it gets %s", uneven.lock, percent(uneven.value))
	}
	if e, ok := v.estimate(uneven.lock, p.ID, "starved"); ok && e.Median > 0 {
		text += fmt.Sprintf(", and %s of %d clients get nothing", format.Short(e.Median), p.Clients)
	}
	return text + "."
}
