package bench

import (
	"fmt"
	"slices"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

func (v *view) costChart(p Point) (charts.Chart, bool) {
	names, left := v.charted(p.ID)
	var shown []Metric
	for _, name := range []string{"commands", "round_trips", "server_cpu", "server_bytes"} {
		if slices.ContainsFunc(names, func(lock string) bool { _, ok := v.estimate(lock, p.ID, name); return ok }) {
			m, _ := FindMetric(name)
			shown = append(shown, m)
		}
	}
	if len(shown) == 0 {
		return charts.Chart{}, false
	}
	c := charts.Chart{ID: charts.Slug("cost", p.ID), Name: v.name(p), Note: left, Takeaway: v.costTakeaway(p, names, shown[0])}
	var columns []column
	for _, m := range shown {
		columns = append(columns, v.metricColumn(m, p, withSpan))
	}
	c.Head, c.Rows = chartTable(names, columns)
	c.Draw(v.drawCost(p, names, shown), "Server cost of one acquisition, "+describe(p))
	return c, true
}

func (v *view) drawCost(p Point, names []string, shown []Metric) charts.Grid {
	g := charts.Grid{Columns: len(shown)}
	for i, m := range shown {
		rows := charts.Rows{Title: m.Heading(), NoAxis: true, Names: i == 0}
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

func (v *view) costTakeaway(p Point, names []string, m Metric) string {
	least, most, _ := extremes(names, func(lock string) (float64, bool) {
		e, ok := v.estimate(lock, p.ID, m.Name)
		return e.Median, ok
	})
	text := fmt.Sprintf("%s takes the least: %s %s for each grant", least.lock, format.Significant(least.value), m.Title)
	if most == least {
		return text + "."
	}
	return fmt.Sprintf("%s; %s takes the most: %s.", text, most.lock, format.Significant(most.value))
}
