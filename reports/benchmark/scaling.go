package benchmark

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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
	keys := plural(p.Keys, "key")
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
	Estimate
}

func (v *view) scalingCharts() []chart {
	var all []chart
	for _, s := range v.sweeps() {
		if c, ok := v.scalingChart(s); ok {
			all = append(all, c)
		}
	}
	return all
}

func (v *view) scalingChart(s sweep) (chart, bool) {
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
		return chart{}, false
	}
	ceiling := v.ceilings(s)
	c := chart{
		ID: slug("scaling", s.section, s.about), Name: v.named(s.section, s.about), Note: strings.TrimSpace(left + " " + greyed(names)),
	}
	c.Takeaway = scalingTakeaway(names, lines, ceiling)
	c.Head, c.Rows = scalingTable(s, names, lines, ceiling)
	title := fmt.Sprintf("Goodput by number of clients, %s", c.Name)
	c.SVG = v.drawScaling(s, names, lines, ceiling).svg(c.ID, "scaling", title, c.Takeaway)
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
			left += "At " + joined(at[note]) + " clients: "
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
			all = append(all, measured{p.Clients, Estimate{Median: median(values)}})
		}
	}
	return all
}

func (v *view) drawScaling(s sweep, names []string, lines [][]measured, ceiling []measured) *canvas {
	top := 0.0
	for _, line := range append(slices.Clone(lines), ceiling) {
		for _, m := range line {
			top = max(top, m.Median)
			if m.High != nil {
				top = max(top, *m.High)
			}
		}
	}
	x := scale{low: float64(s.points[0].Clients), high: float64(s.points[len(s.points)-1].Clients), from: chartLeft + 26, to: chartRight - 26, log: true}
	y := scale{high: top * 1.06, from: chartBottom, to: chartTop}
	c := &canvas{width: chartWidth, height: chartHeight + 14}
	var xTicks []tick
	for _, p := range s.points {
		if at := float64(p.Clients); len(xTicks) == 0 || xTicks[len(xTicks)-1].at != at {
			xTicks = append(xTicks, tick{at, strconv.Itoa(p.Clients)})
		}
	}
	c.frame(scale{low: x.low, high: x.high, from: x.from - 26, to: x.to + 26}, y, nil, ticksOf(y, "/s"))
	c.frame(x, y, xTicks, nil)
	c.text("axis", "middle", (x.from+x.to)/2, chartBottom+38, "clients")
	var labels ends
	if len(ceiling) > 0 {
		dots := dotsOf(ceiling, x, y, 0)
		c.b.WriteString(`<path class="ceiling" d="` + trace(dots) + `"/>`)
		last := dots[len(dots)-1]
		c.text("soft", "end", last.x, max(chartTop-2, last.y-6), "ceiling")
	}
	styles := v.series(names)
	for i := len(names) - 1; i >= 0; i-- {
		dodge := (float64(i) - float64(len(names)-1)/2) * min(3.5, 24/float64(len(names))) // intervals side by side
		dots := dotsOf(lines[i], x, y, dodge)
		c.track(styles[i], dots)
		for j, m := range lines[i] {
			if m.Low != nil && m.High != nil {
				c.line("whisker "+styles[i].class(), dots[j].x, y.at(*m.Low), dots[j].x, y.at(*m.High))
			}
			c.marker(styles[i], dots[j].x, dots[j].y)
		}
		labels = append(labels, end{names[i], styles[i], dots[len(dots)-1]})
	}
	c.endsWithin(labels)
	return c
}

func dotsOf(line []measured, x, y scale, dodge float64) []dot {
	var dots []dot
	for _, m := range line {
		dots = append(dots, dot{x.at(float64(m.clients)) + dodge, y.at(m.Median)})
	}
	return dots
}

func scalingTable(s sweep, names []string, lines [][]measured, ceiling []measured) (head []string, rows [][]string) {
	head = []string{"lock"}
	for _, p := range s.points {
		head = append(head, plural(p.Clients, "client"))
	}
	add := func(name string, line []measured) {
		row := []string{name}
		for _, p := range s.points {
			i := slices.IndexFunc(line, func(m measured) bool { return m.clients == p.Clients })
			if i < 0 {
				row = append(row, none)
				continue
			}
			row = append(row, strings.TrimSpace(significant(line[i].Median)+" "+span(line[i].Low, line[i].High)))
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
		plural(last.clients, "client"), names[0], significant(last.Median), times(last.Median/math.Max(first.Median, 1e-9)), plural(first.clients, "client"))
	if n := len(ceiling); n > 0 && ceiling[n-1].clients == last.clients {
		text += fmt.Sprintf(", under a ceiling of %s", significant(ceiling[n-1].Median))
	}
	return text + "."
}
