package bench

import (
	"fmt"
	"maps"
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

// sweeps returns those of at least two numbers of clients, in the plan's order.
func (v *view) sweeps() []sweep {
	var all []sweep
	for _, p := range v.compared() {
		keys := format.Plural(p.Keys, "key")
		if p.Keys == p.Clients {
			keys = "a key for each client"
		}
		about := conditions(p, keys, holdText(p), p.Workload)
		i := slices.IndexFunc(all, func(s sweep) bool { return s.section == p.Section && s.about == about })
		if i < 0 {
			i, all = len(all), append(all, sweep{section: p.Section, about: about})
		}
		all[i].points = append(all[i].points, p)
	}
	for _, s := range all {
		slices.SortStableFunc(s.points, func(a, b Point) int { return a.Clients - b.Clients })
	}
	return filter(all, func(s sweep) bool { return len(s.points) > 1 })
}

// measured is a figure by the number of clients.
type measured map[int]stats.Estimate

func (v *view) scalingChart(s sweep) (charts.Chart, bool) {
	names, left := v.chartedIn(s)
	if len(names) == 0 {
		return charts.Chart{}, false
	}
	lines := map[string]measured{}
	for _, name := range names {
		lines[name] = measured{}
		for _, p := range s.points {
			if e, ok := v.estimate(name, p.ID, rankedBy); ok {
				lines[name][p.Clients] = e
			}
		}
	}
	ceiling := v.ceilings(s)
	c := charts.Chart{
		ID: charts.Slug("scaling", s.section, s.about), Name: v.named(s.section, s.about), Note: strings.TrimSpace(left + " " + greyed(names)),
		Takeaway: scalingTakeaway(s, names[0], lines[names[0]], ceiling),
	}
	c.Draw(v.drawScaling(s, names, lines, ceiling), "Goodput by number of clients, "+c.Name)
	if len(ceiling) > 0 {
		names, lines["ceiling"] = append(names, "ceiling"), ceiling
	}
	var columns []column
	for _, p := range s.points {
		columns = append(columns, column{format.Plural(p.Clients, "client"), func(lock string) string {
			if e, ok := lines[lock][p.Clients]; ok {
				return withSpan(e)
			}
			return format.None
		}})
	}
	c.Head, c.Rows = chartTable(names, columns)
	return c, true
}

// chartedIn returns the names of all points of a sweep, the best at the most clients first.
func (v *view) chartedIn(s sweep) (names []string, left string) {
	var notes []string
	at := map[string][]string{} // by note: numbers of clients
	for _, p := range slices.Backward(s.points) {
		some, note := v.charted(p.ID)
		for _, name := range some {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if note != "" && len(at[note]) == 0 {
			notes = append(notes, note)
		}
		at[note] = append([]string{strconv.Itoa(p.Clients)}, at[note]...)
	}
	for _, note := range notes {
		if len(at[note]) < len(s.points) {
			left += "At " + format.Joined(at[note]) + " clients: "
		}
		left += note + " "
	}
	return names, strings.TrimSpace(left)
}

// ceilings returns what no lock exceeds at each point, if something is held: the median over the locks.
func (v *view) ceilings(s sweep) measured {
	all := measured{}
	for _, p := range s.points {
		var values []float64
		for _, r := range v.ranked(p.ID) {
			goodput, ok := v.estimate(r.Subject, p.ID, rankedBy)
			part, also := v.estimate(r.Subject, p.ID, "utilisation")
			if ok && also && part.Median > 0 {
				values = append(values, goodput.Median/part.Median)
			}
		}
		if len(values) > 0 {
			all[p.Clients] = stats.Estimate{Median: stats.Median(values)}
		}
	}
	return all
}

func (v *view) drawScaling(s sweep, names []string, lines map[string]measured, ceiling measured) charts.Lines {
	c := charts.Lines{X: charts.Axis{Log: true, Label: "clients"}, Y: charts.Axis{Unit: " /s"}}
	points := func(line measured) (all []charts.Point) {
		for _, p := range s.points {
			if e, ok := line[p.Clients]; ok {
				at := charts.Point{X: float64(p.Clients), Y: e.Median}
				if e.Low != nil && e.High != nil {
					at.Low, at.High = *e.Low, *e.High
				}
				all = append(all, at)
			}
		}
		return all
	}
	for _, p := range s.points {
		c.X.Ticks = append(c.X.Ticks, charts.Tick{At: float64(p.Clients), Text: strconv.Itoa(p.Clients)})
	}
	for i, style := range v.series(names) {
		c.Lines = append(c.Lines, charts.Line{Name: names[i], Style: style, Marks: true, Points: points(lines[names[i]])})
	}
	if len(ceiling) > 0 {
		c.Lines = append(c.Lines, charts.Line{Name: "ceiling", Class: "ceiling", Points: points(ceiling)})
	}
	return c
}

func scalingTakeaway(s sweep, best string, line, ceiling measured) string {
	clients := slices.Sorted(maps.Keys(line))
	fewest, most := clients[0], clients[len(clients)-1]
	text := fmt.Sprintf("With %s, %s completes the most: %s critical sections per second, %s what it does with %s", format.Plural(most, "client"), best,
		format.Significant(line[most].Median), format.Times(line[most].Median/math.Max(line[fewest].Median, 1e-9)), format.Plural(fewest, "client"))
	if c, ok := ceiling[most]; ok {
		text += ", under a ceiling of " + format.Significant(c.Median)
	}
	return text + "."
}
