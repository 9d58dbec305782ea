package bench

import (
	"fmt"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

func (d drawing) cost() []charts.Chart {
	c, g := d.chart("cost"), charts.Grid{}
	var columns []column
	for _, m := range Metrics() {
		switch m.Name {
		case "commands", "round_trips", "server_cpu", "server_bytes":
		default:
			continue
		}
		rows := charts.Rows{Title: m.Heading(), NoAxis: true, Names: len(columns) == 0}
		measured := false
		for _, of := range d.rows {
			row := charts.Row{Name: of.Subject, Style: d.styles[of.Subject], Bar: true, Text: "not measured"}
			if e, ok := of.estimate(m.Name); ok {
				row.Marks, row.Text, measured = []charts.Mark{{At: e.Median, Style: row.Style}}, format.Significant(e.Median), true
			}
			rows.Rows = append(rows.Rows, row)
		}
		if !measured {
			continue
		}
		if len(columns) == 0 {
			c.Takeaway = d.costTakeaway(m)
		}
		columns, g.Panels = append(columns, metricColumn(m, withSpan)), append(g.Panels, rows)
	}
	if g.Columns = len(columns); g.Columns == 0 {
		return nil
	}
	tabulate(&c, d.rows, columns...)
	c.Draw(g, "Server cost of one acquisition, "+describe(d.Point))
	return []charts.Chart{c}
}

func (d drawing) costTakeaway(m Metric) string {
	least, most, _ := extremes(d.rows, func(row *Row) (string, float64, bool) {
		e, ok := row.estimate(m.Name)
		return row.Subject, e.Median, ok
	})
	text := fmt.Sprintf("%s takes the least: %s %s for each grant", least.lock, format.Significant(least.value), m.Title)
	if most == least {
		return text + "."
	}
	return fmt.Sprintf("%s; %s takes the most: %s.", text, most.lock, format.Significant(most.value))
}
