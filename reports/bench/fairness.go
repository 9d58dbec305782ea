package bench

import (
	"fmt"
	"math"
	"slices"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// shares returns the number of critical sections per client in ascending order, divided by the mean. Element i is the
// median over the trials of the i-th smallest value.
func shares(trials []*Trial) []float64 {
	// places[i] holds one value per trial. It is the i-th smallest number of critical sections of a client, divided by
	// the mean.
	var places [][]float64
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
	return collect(places, stats.Median)
}

func total(counts []int) (n int) {
	for _, k := range counts {
		n += k
	}
	return n
}

func (d drawing) fairness() []charts.Chart {
	parts := map[*Row][]float64{}
	d.rows = filter(d.rows, func(row *Row) bool {
		parts[row] = shares(row.counted)
		return len(parts[row]) > 1
	})
	if len(d.rows) == 0 || !d.Contended() {
		return nil
	}
	columns := []column{
		{"fewest × even", func(row *Row) string { return format.Significant(parts[row][0]) }},
		{"most × even", func(row *Row) string { return format.Significant(slices.Max(parts[row])) }},
	}
	for _, m := range Metrics() {
		if m.Fairness {
			columns = append(columns, metricColumn(m, func(e stats.Estimate) string { return metricText(m, e.Median) }))
		}
	}
	c := d.chart("fairness")
	c.Takeaway = d.fairnessTakeaway()
	tabulate(&c, d.rows, columns...)
	c.Draw(d.drawShares(parts), "Critical sections by client, "+describe(d.Point))
	return []charts.Chart{c}
}

func (d drawing) drawShares(parts map[*Row][]float64) charts.Grid {
	high := 2.0
	for _, row := range d.rows {
		high = max(high, slices.Max(parts[row]))
	}
	y := charts.Axis{High: high * 1.04}
	for _, at := range []float64{0, 1, math.Floor(high)} {
		y.Ticks = append(y.Ticks, charts.Tick{At: at, Text: format.Short(at)})
	}
	g := charts.Grid{Columns: 4}
	for _, row := range d.rows {
		s, style := parts[row], d.styles[row.Subject]
		line := charts.Line{Style: charts.Style{Color: style.Color}, Area: true} // the line has no markers, because the panel title already shows the marker
		for i, share := range s {
			line.Points = append(line.Points, charts.Point{X: float64(i), Y: share})
		}
		words := fmt.Sprintf("%s to %s", format.Short(s[0]), format.Times(s[len(s)-1]))
		g.Panels = append(g.Panels, charts.Lines{
			Title: row.Subject, Marker: &style, Height: 140, Lines: []charts.Line{line}, Rules: []charts.Rule{{At: 1}},
			X: charts.Axis{Label: words, Ticks: []charts.Tick{}}, Y: y,
		})
	}
	return g
}

// fairnessTakeaway names the locks that serve clients most and least evenly. It states the same share as the tables and the verdict.
func (d drawing) fairnessTakeaway() string {
	share := func(row *Row) float64 { return row.Estimates["min_max_share"].Median }
	least, most, _ := extremes(d.rows, func(row *Row) (string, float64, bool) {
		return row.Subject, share(row) - row.Estimates["starved"].Median, true
	})
	uneven, _ := d.Row(least.lock, d.ID)
	even, _ := d.Row(most.lock, d.ID)
	text := fmt.Sprintf("%s shares most evenly: its least served client gets %s of what the most served one gets", most.lock, format.Percent(share(even)))
	switch {
	case uneven.Starving != "":
		text += fmt.Sprintf("; with %s, %s", least.lock, uneven.Starving)
	case least != most:
		text += fmt.Sprintf("; with %s it gets %s", least.lock, format.Percent(share(uneven)))
	}
	return text + "."
}
