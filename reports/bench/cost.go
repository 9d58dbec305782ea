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
	c.SVG = v.drawCost(p, names, shown).SVG(c.ID, "cost", "Server cost of one acquisition, "+describe(p), c.Takeaway)
	return c, true
}

const (
	costName = 170 // for the names of the locks
	costRow  = 22
	costTop  = 26
)

func (v *view) drawCost(p Point, names []string, shown []Metric) *charts.Canvas {
	c := &charts.Canvas{Width: charts.ChartWidth, Height: costTop + costRow*float64(len(names)) + 6}
	wide := (charts.ChartWidth - costName) / float64(len(shown))
	for i, name := range names {
		y := costTop + costRow*float64(i)
		c.Marker(v.styles[name], 8, y+10)
		c.Text("name", "start", 20, y+14, charts.Short(name, costName-28, charts.BoldGlyph))
	}
	for j, m := range shown {
		left, high := costName+wide*float64(j), 0.0
		for _, name := range names {
			if e, ok := v.estimate(name, p.ID, m.Name); ok {
				high = max(high, e.Median)
			}
		}
		c.Text("axis", "start", left, 14, heading(m))
		c.Line("rule", left, costTop-4, left, c.Height-4)
		for i, name := range names {
			y := costTop + costRow*float64(i)
			e, ok := v.estimate(name, p.ID, m.Name)
			if !ok {
				c.Text("soft", "start", left+6, y+14, "not measured")
				continue
			}
			long := 0.0
			if high > 0 {
				long = max(0, e.Median/high) * (wide - 66)
			}
			c.Rect("bar "+v.styles[name].Class(), left, y+3, long, costRow-8)
			c.Text("", "start", left+long+6, y+14, format.Significant(e.Median))
		}
	}
	return c
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
