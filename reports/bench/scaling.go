package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// sweep is the points of a section that differ in the number of clients alone.
type sweep struct {
	section string
	about   string // what they have in common
	points  []Point
}

// sweeps are those of at least two numbers of clients, in the plan's order.
func (v *view) sweeps() []sweep {
	var all []sweep
	for _, p := range v.compared() {
		about := commonText(p)
		i := slices.IndexFunc(all, func(s sweep) bool { return s.section == p.Section && s.about == about })
		if i < 0 {
			i, all = len(all), append(all, sweep{section: p.Section, about: about})
		}
		all[i].points = append(all[i].points, p)
	}
	all = slices.DeleteFunc(all, func(s sweep) bool { return len(s.points) < 2 })
	for _, s := range all {
		slices.SortStableFunc(s.points, func(a, b Point) int { return a.Clients - b.Clients })
	}
	return all
}

// commonText is a point's conditions but for the number of its clients.
func commonText(p Point) string {
	keys := format.Plural(p.Keys, "key")
	if p.Keys == p.Clients {
		keys = "a key for each client"
	}
	parts := []string{keys, holdText(p), p.Workload}
	if p.Rate > 0 {
		parts = append(parts, arrivalText(p))
	}
	if faulty(p) {
		parts = append(parts, "under "+p.Fault)
	}
	return strings.Join(parts, ", ")
}

// measured is a figure at a number of clients.
type measured struct {
	clients int
	stats.Estimate
}

func (v *view) scalingCharts() []charts.Chart {
	var all []charts.Chart
	for _, s := range v.sweeps() {
		if c, ok := v.scalingChart(s); ok {
			all = append(all, c)
		}
	}
	return all
}

func (v *view) scalingChart(s sweep) (charts.Chart, bool) {
	names, left := v.chartedIn(s)
	lines := make([][]measured, len(names))
	for i, name := range names {
		for _, p := range s.points {
			if e, ok := v.estimate(name, p.ID, "goodput"); ok {
				lines[i] = append(lines[i], measured{p.Clients, e})
			}
		}
	}
	if len(names) == 0 {
		return charts.Chart{}, false
	}
	ceiling := v.ceilings(s)
	c := charts.Chart{
		ID: charts.Slug("scaling", s.section, s.about), Name: v.named(s.section, s.about), Note: strings.TrimSpace(left + " " + greyed(names)),
	}
	c.Takeaway = scalingTakeaway(names, lines, ceiling)
	c.Head, c.Rows = scalingTable(s, names, lines, ceiling)
	c.Draw(v.drawScaling(s, names, lines, ceiling), "Goodput by number of clients, "+c.Name)
	return c, true
}

// chartedIn are the names of all points of a sweep, the best at the most clients first.
func (v *view) chartedIn(s sweep) (names []string, left string) {
	var notes []string
	at := map[string][]string{} // by note: numbers of clients
	for i := len(s.points) - 1; i >= 0; i-- {
		some, note := v.charted(s.points[i].ID)
		for _, name := range some {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if note != "" && len(at[note]) == 0 {
			notes = append(notes, note)
		}
		at[note] = append([]string{strconv.Itoa(s.points[i].Clients)}, at[note]...)
	}
	for _, note := range notes {
		if len(at[note]) < len(s.points) {
			left += "At " + format.Joined(at[note]) + " clients: "
		}
		left += note + " "
	}
	return names, strings.TrimSpace(left)
}

// ceilings are what no lock exceeds at each point, found from goodput and its part of the ceiling: the median over the
// locks, whose holds differ a little. Empty where there is none, as nothing is held.
func (v *view) ceilings(s sweep) []measured {
	var all []measured
	for _, p := range s.points {
		var values []float64
		for _, r := range v.ranked(p.ID) {
			goodput, ok := v.estimate(r.Subject, p.ID, "goodput")
			part, also := v.estimate(r.Subject, p.ID, "utilisation")
			if ok && also && part.Median > 0 {
				values = append(values, goodput.Median/part.Median)
			}
		}
		if len(values) > 0 {
			all = append(all, measured{p.Clients, stats.Estimate{Median: stats.Median(values)}})
		}
	}
	return all
}

func (v *view) drawScaling(s sweep, names []string, lines [][]measured, ceiling []measured) charts.Lines {
	c := charts.Lines{X: charts.Axis{Log: true, Label: "clients"}, Y: charts.Axis{Unit: " /s"}}
	for _, p := range s.points {
		c.X.Ticks = append(c.X.Ticks, charts.Tick{At: float64(p.Clients), Text: strconv.Itoa(p.Clients)})
	}
	styles := v.series(names)
	for i, name := range names {
		c.Lines = append(c.Lines, charts.Line{Name: name, Style: styles[i], Marks: true, Points: pointsAt(lines[i])})
	}
	if len(ceiling) > 0 {
		c.Lines = append(c.Lines, charts.Line{Name: "ceiling", Class: "ceiling", Points: pointsAt(ceiling)})
	}
	return c
}

func pointsAt(line []measured) []charts.Point {
	var all []charts.Point
	for _, m := range line {
		p := charts.Point{X: float64(m.clients), Y: m.Median}
		if m.Low != nil && m.High != nil {
			p.Low, p.High = *m.Low, *m.High
		}
		all = append(all, p)
	}
	return all
}

func scalingTable(s sweep, names []string, lines [][]measured, ceiling []measured) (head []string, rows [][]string) {
	head = []string{"lock"}
	for _, p := range s.points {
		head = append(head, format.Plural(p.Clients, "client"))
	}
	add := func(name string, line []measured) {
		row := []string{name}
		for _, p := range s.points {
			i := slices.IndexFunc(line, func(m measured) bool { return m.clients == p.Clients })
			if i < 0 {
				row = append(row, format.None)
				continue
			}
			row = append(row, strings.TrimSpace(format.Significant(line[i].Median)+" "+format.Span(line[i].Low, line[i].High)))
		}
		rows = append(rows, row)
	}
	for i, name := range names {
		add(name, lines[i])
	}
	if len(ceiling) > 0 {
		add("ceiling", ceiling)
	}
	return head, rows
}

// scalingTakeaway says what the best at the most clients keeps of what it had at the fewest.
func scalingTakeaway(names []string, lines [][]measured, ceiling []measured) string {
	first, last := lines[0][0], lines[0][len(lines[0])-1]
	text := fmt.Sprintf("With %s, %s completes the most: %s critical sections per second, %s what it does with %s",
		format.Plural(last.clients, "client"), names[0], format.Significant(last.Median), format.Times(last.Median/math.Max(first.Median, 1e-9)), format.Plural(first.clients, "client"))
	if n := len(ceiling); n > 0 && ceiling[n-1].clients == last.clients {
		text += fmt.Sprintf(", under a ceiling of %s", format.Significant(ceiling[n-1].Median))
	}
	return text + "."
}
