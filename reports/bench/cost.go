package bench

import (
	"fmt"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// costMetrics are what one acquisition takes of a server.
func costMetrics() []Metric {
	var all []Metric
	for _, name := range []string{"commands", "round_trips", "server_cpu", "server_bytes"} {
		m, _ := FindMetric(name)
		all = append(all, m)
	}
	return all
}

func (v *view) costCharts() []charts.Chart {
	var all []charts.Chart
	for _, p := range v.compared() {
		if c, ok := v.costChart(p); ok {
			all = append(all, c)
		}
	}
	return all
}

func (v *view) costChart(p Point) (charts.Chart, bool) {
	names, left := v.charted(p.ID)
	var shown []Metric
	for _, m := range costMetrics() {
		for _, name := range names {
			if _, ok := v.estimate(name, p.ID, m.Name); ok {
				shown = append(shown, m)
				break
			}
		}
	}
	if len(shown) == 0 {
		return charts.Chart{}, false
	}
	c := charts.Chart{ID: charts.Slug("cost", p.ID), Name: v.name(p), Note: left, Takeaway: v.costTakeaway(p, names, shown[0])}
	c.Head, c.Rows = v.costTable(p, names, shown)
	c.Draw(v.drawCost(p, names, shown), "Server cost of one acquisition, "+describe(p))
	return c, true
}

// drawCost has a panel for each metric, each with a scale of its own.
func (v *view) drawCost(p Point, names []string, shown []Metric) charts.Grid {
	g := charts.Grid{Columns: len(shown)}
	for i, m := range shown {
		rows := charts.Rows{Title: heading(m), NoAxis: true, Names: i == 0}
		for _, name := range names {
			row := charts.Row{Name: name, Style: v.styles[name], Bar: true, Text: "not measured"}
			if e, ok := v.estimate(name, p.ID, m.Name); ok {
				row.Marks, row.Text = []charts.Mark{{At: e.Median, Style: row.Style}}, format.Significant(e.Median)
			}
			rows.Rows = append(rows.Rows, row)
		}
		g.Panels = append(g.Panels, rows)
	}
	return g
}

func (v *view) costTable(p Point, names []string, shown []Metric) (head []string, rows [][]string) {
	head = []string{"lock"}
	for _, m := range shown {
		head = append(head, heading(m))
	}
	for _, name := range names {
		row := []string{name}
		for _, m := range shown {
			text := format.None
			if e, ok := v.estimate(name, p.ID, m.Name); ok {
				text = strings.TrimSpace(format.Significant(e.Median) + " " + format.Span(e.Low, e.High))
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (v *view) costTakeaway(p Point, names []string, m Metric) string {
	least, most := "", ""
	var low, high float64
	for _, name := range names {
		e, ok := v.estimate(name, p.ID, m.Name)
		if !ok {
			continue
		}
		if least == "" || e.Median < low {
			least, low = name, e.Median
		}
		if most == "" || e.Median > high {
			most, high = name, e.Median
		}
	}
	text := fmt.Sprintf("%s takes the least: %s %s for each grant", least, format.Significant(low), m.Title)
	if most == least {
		return text + "."
	}
	return fmt.Sprintf("%s; %s takes the most: %s.", text, most, format.Significant(high))
}
