package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// overviewPoints is the maximum number of sets of conditions in the overview chart. Each set has one panel.
const overviewPoints = 6

// overview returns a chart of goodput against the longest wait, with one panel per set of conditions. If clients share
// keys under any conditions, the chart shows only such conditions.
func (v *view) overview() []charts.Chart {
	points := filter(v.compared(), Point.Contended)
	if len(points) == 0 {
		points = v.compared()
	}
	points = filter(points, func(p Point) bool { return len(v.dots(p)) > 0 })
	if len(points) == 0 {
		return nil
	}
	c := charts.Chart{ID: "overview", Head: []string{"lock", "condition", "goodput /s", "longest wait, ms", "starves"}}
	c.Takeaway = v.overviewTakeaway(points)
	for _, p := range points {
		for _, row := range v.dots(p) {
			goodput, wait := row.Estimates[rankedBy], row.Estimates["longest_wait"]
			c.Rows = append(c.Rows, []string{row.Subject, v.name(p), withSpan(goodput), withSpan(wait), row.Starving})
		}
	}
	c.Note = "Better is up and left. A hollow dot is a lock that starves clients."
	drawn := points
	if every := (len(points) + overviewPoints - 1) / overviewPoints; every > 1 {
		drawn = nil
		for i := len(points) - 1; i >= 0; i -= every {
			drawn = append([]Point{points[i]}, drawn...)
		}
		c.Note += fmt.Sprintf(" Drawn are %d of %d conditions; the table has all.", len(drawn), len(points))
	}
	c.Draw(v.drawOverview(drawn), "Goodput against longest wait")
	return []charts.Chart{c}
}

// dots returns the locks in the overview chart for one set of conditions: ranked locks, and locks that starve clients.
func (v *view) dots(p Point) []*Row {
	rows := collect(v.ranking(p.ID), func(r Ranked) *Row {
		row, _ := v.Row(r.Subject, p.ID)
		return row
	})
	return filter(rows, func(row *Row) bool {
		ranked := row.whyOut() == "" || row.Starving != "" && row.subject.Defect == ""
		return ranked && row.Estimates[rankedBy].Median > 0 && row.Estimates["longest_wait"].Median > 0
	})
}

func (v *view) drawOverview(points []Point) charts.Grid {
	g := charts.Grid{Columns: min(2, len(points))}
	low, high := math.Inf(1), 0.0 // bounds of the longest waits of all locks
	for _, p := range points {
		for _, row := range v.dots(p) {
			wait := row.Estimates["longest_wait"].Median
			low, high = min(low, wait), max(high, wait)
		}
	}
	for _, p := range points {
		panel := charts.Dots{Title: v.name(p) + ": goodput /s", X: charts.Axis{Log: true, Unit: " ms", Low: low / 1.5, High: high * 1.5, Label: "longest wait"}}
		least, most, _ := extremes(v.dots(p), func(row *Row) (string, float64, bool) { return row.Subject, row.Estimates[rankedBy].Median, true })
		room := max(most.value-least.value, most.value/4) / 6
		panel.Y = charts.Axis{Low: max(0, least.value-room), High: most.value + room}
		for _, row := range v.dots(p) {
			dot := charts.Dot{Name: row.Subject, X: row.Estimates["longest_wait"].Median, Y: row.Estimates[rankedBy].Median,
				Style: charts.Style{Color: v.styles[row.Subject].Color}, Hollow: row.Starving != ""}
			if dot.Hollow {
				dot.Name += fmt.Sprintf(" (starves %.0f/%d)", math.Ceil(row.Estimates["starved"].Median), p.Clients)
			}
			panel.Dots = append(panel.Dots, dot)
		}
		g.Panels = append(g.Panels, panel)
	}
	return g
}

// overviewTakeaway returns one sentence for the overview chart. If locks starve clients, the sentence compares one of
// them with a lock that starves none. Otherwise, the sentence compares the locks with the shortest and the longest
// wait.
func (v *view) overviewTakeaway(points []Point) string {
	best, text := 0.0, ""
	consider := func(weight float64, form string, args ...any) {
		if weight > best {
			best, text = weight, fmt.Sprintf(form, args...)
		}
	}
	goodput := func(row *Row) string { return format.Significant(row.Estimates[rankedBy].Median) }
	wait := func(row *Row) string { return format.Significant(row.Estimates["longest_wait"].Median) + " ms" }
	for _, p := range points {
		fair := filter(v.dots(p), func(row *Row) bool { return row.Starving == "" })
		if len(fair) == 0 {
			continue
		}
		byWait := func(a, b *Row) int {
			return cmp.Compare(a.Estimates["longest_wait"].Median, b.Estimates["longest_wait"].Median)
		}
		quick, slow := slices.MinFunc(fair, byWait), slices.MaxFunc(fair, byWait)
		ratio := slow.Estimates["longest_wait"].Median / quick.Estimates["longest_wait"].Median
		if quick == slow {
			consider(ratio, "%s: %s completes %s /s with a longest wait of %s.", v.name(p), quick.Subject, goodput(quick), wait(quick))
		} else {
			consider(ratio, "%s: the longest wait is %s with %s (%s /s) and %s with %s (%s /s).", v.name(p), wait(quick), quick.Subject, goodput(quick), wait(slow), slow.Subject, goodput(slow))
		}
		for _, row := range v.dots(p) {
			if row.Starving != "" {
				faster := row.Estimates[rankedBy].Median / fair[0].Estimates[rankedBy].Median
				consider(1e6*faster, "%s: %s completes %s /s, but %s; %s completes %s /s with a longest wait of %s.", v.name(p), row.Subject, goodput(row), row.Starving, quick.Subject, goodput(quick), wait(quick))
			}
		}
	}
	return text
}
