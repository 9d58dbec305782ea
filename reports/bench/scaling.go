package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// sweep is a series of measurements that differ only in the number of clients.
type sweep struct {
	section string
	about   string // conditions that all measurements of the series have in common
	points  []Point
}

// sweeps returns all series of at least two measurements that differ only in the number of clients.
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

// scaled is a chart line whose horizontal axis is the number of clients.
type scaled struct {
	charts.Line
	by map[int]string // text of the table cell, by number of clients
}

func (l *scaled) add(clients int, e stats.Estimate, text string) {
	at := charts.Point{X: float64(clients), Y: e.Median}
	if e.Low != nil && e.High != nil {
		at.Low, at.High = *e.Low, *e.High
	}
	l.Points, l.by[clients] = append(l.Points, at), text
}

func (v *view) scaling() (all []charts.Chart) {
	for _, s := range v.sweeps() {
		names, left := v.chartedIn(s)
		if len(names) == 0 {
			continue
		}
		c := charts.Chart{ID: charts.Slug("scaling", s.section, s.about), Name: v.named(s.section, s.about), Head: []string{"lock"},
			Note: strings.TrimSpace(left + " " + greyed(names))}
		lines := v.scaled(s, names)
		c.Takeaway = scalingTakeaway(lines)
		drawn := charts.Lines{X: charts.Axis{Log: true, Label: "clients"}, Y: charts.Axis{Unit: " /s"}}
		for _, p := range s.points {
			c.Head = append(c.Head, format.Plural(p.Clients, "client"))
			drawn.X.Ticks = append(drawn.X.Ticks, charts.Tick{At: float64(p.Clients), Text: strconv.Itoa(p.Clients)})
		}
		for _, l := range lines {
			row := []string{l.Name}
			for _, p := range s.points {
				row = append(row, cmp.Or(l.by[p.Clients], format.None))
			}
			drawn.Lines, c.Rows = append(drawn.Lines, l.Line), append(c.Rows, row)
		}
		c.Draw(drawn, "Goodput by number of clients, "+c.Name)
		all = append(all, c)
	}
	return all
}

// scaled returns a line with the goodput of each lock. If the conditions set a hold time, it also returns a line for
// the highest possible goodput.
func (v *view) scaled(s sweep, names []string) (lines []scaled) {
	for i, style := range v.series(names) {
		l := scaled{charts.Line{Name: names[i], Style: style, Marks: true}, map[int]string{}}
		for _, p := range s.points {
			if e, ok := v.estimate(l.Name, p.ID, rankedBy); ok {
				l.add(p.Clients, e, withSpan(e))
			}
		}
		lines = append(lines, l)
	}
	ceiling := scaled{charts.Line{Name: "ceiling", Class: "ceiling"}, map[int]string{}}
	for _, p := range s.points {
		if most, ok := v.ceiling(p); ok {
			ceiling.add(p.Clients, stats.Estimate{Median: most}, format.Significant(most))
		}
	}
	if len(ceiling.Points) > 0 {
		lines = append(lines, ceiling)
	}
	return lines
}

// chartedIn returns the locks to draw in a chart, and a note about omitted locks. The locks are ordered by their rank
// under the conditions with the most clients.
func (v *view) chartedIn(s sweep) (names []string, left string) {
	var notes []string
	at := map[string][]string{} // numbers of clients to which each note applies
	for _, p := range slices.Backward(s.points) {
		d := v.drawnAt(p)
		for _, name := range d.names() {
			names = appendUnique(names, name)
		}
		if d.left != "" {
			notes = appendUnique(notes, d.left)
		}
		at[d.left] = append([]string{strconv.Itoa(p.Clients)}, at[d.left]...)
	}
	for _, note := range notes {
		if len(at[note]) < len(s.points) {
			left += "At " + format.Joined(at[note]) + " clients: "
		}
		left += note + " "
	}
	return names, strings.TrimSpace(left)
}

// ceiling returns the highest possible goodput: min(clients, keys) / (hold time + round trip), as the median over the
// locks. If the conditions set no hold time, ok is false.
func (v *view) ceiling(p Point) (most float64, ok bool) {
	var values []float64
	for _, row := range v.drawnAt(p).rows {
		goodput, ok := row.estimate(rankedBy)
		part, also := row.estimate("utilisation")
		if ok && also && part.Median > 0 {
			values = append(values, goodput.Median/part.Median)
		}
	}
	return stats.Median(values), len(values) > 0
}

func scalingTakeaway(lines []scaled) string {
	best, last := lines[0], lines[len(lines)-1]
	fewest, most := best.Points[0], best.Points[len(best.Points)-1]
	text := fmt.Sprintf("With %s, %s completes the most: %s critical sections per second, %s what it does with %s",
		format.Plural(int(most.X), "client"), best.Name, format.Significant(most.Y), format.Times(most.Y/max(fewest.Y, 1e-9)),
		format.Plural(int(fewest.X), "client"))
	if c, ok := last.At(most.X); ok && last.Class == "ceiling" {
		text += ", under a ceiling of " + format.Significant(c)
	}
	return text + "."
}
