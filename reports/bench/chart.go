package bench

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// drawing holds the data of a chart: one row of results for each lock that is drawn, best lock first. The field left is
// a note that lists the omitted locks and the reasons.
type drawing struct {
	*view
	Point
	rows []*Row
	left string
}

func (v *view) drawnAt(p Point) drawing {
	return v.drawing(p, collect(v.ranked(p.ID), func(r Ranked) *Row {
		row, _ := v.Row(r.Subject, p.ID)
		return row
	}))
}

func (v *view) drawing(p Point, rows []*Row) drawing {
	d := drawing{view: v, Point: p, rows: rows}
	var unsafe, out []string
	for _, row := range v.rowsAt(p.ID) {
		switch {
		case row.subject.Role != Lock || slices.Contains(d.rows, row):
		case row.Unsafe != nil:
			unsafe = append(unsafe, fmt.Sprintf("%s (%s violated)", row.Subject, row.Unsafe.Property))
		default:
			out = append(out, fmt.Sprintf("%s (%s)", row.Subject, row.whyOut()))
		}
	}
	if len(unsafe) > 0 {
		d.left = "Not drawn, as exclusion was violated: " + format.Joined(unsafe) + ". "
	}
	if len(out) > 0 {
		d.left += "Not drawn, as they have no rank: " + format.Joined(out) + "."
	}
	d.left = strings.TrimSpace(d.left)
	return d
}

func (d drawing) chart(kind ...string) charts.Chart {
	return charts.Chart{ID: charts.Slug(slices.Insert(kind, 1, d.ID)...), Name: d.name(d.Point), Note: d.left}
}

func (d drawing) names() []string {
	return collect(d.rows, func(row *Row) string { return row.Subject })
}

// column is a column of the table that accompanies a chart.
type column struct {
	head string
	cell func(*Row) string
}

func metricColumn(m Metric, write func(stats.Estimate) string) column {
	return column{m.Heading(), func(row *Row) string {
		if e, ok := row.estimate(m.Name); ok {
			return write(e)
		}
		return format.None
	}}
}

func tabulate(c *charts.Chart, rows []*Row, columns ...column) {
	c.Head = append([]string{"lock"}, collect(columns, func(k column) string { return k.head })...)
	for _, row := range rows {
		cells := collect(columns, func(k column) string { return k.cell(row) })
		c.Rows = append(c.Rows, append([]string{row.Subject}, cells...))
	}
}

func withSpan(e stats.Estimate) string {
	return strings.TrimSpace(format.Significant(e.Median) + " " + format.Span(e.Low, e.High))
}

type extreme struct {
	lock  string
	value float64
}

// extremes calls a function for each element of a slice. It returns the smallest and the largest value with their
// locks. The third result is false if the function has no value for at least one element.
func extremes[T any](of []T, value func(T) (lock string, v float64, ok bool)) (least, most extreme, all bool) {
	all = true
	for _, one := range of {
		lock, v, ok := value(one)
		if !ok {
			all = false
			continue
		}
		if least.lock == "" || v < least.value {
			least = extreme{lock, v}
		}
		if most.lock == "" || v > most.value {
			most = extreme{lock, v}
		}
	}
	return least, most, all
}

// mostColoured is the maximum number of coloured lines if a chart has more lines than colours. All further lines are
// grey.
const mostColoured = 6

// stylesOf returns a line style for each lock. A lock and its tuned version have the same colour, but different dashes
// and markers.
func stylesOf(subjects []Subject) map[string]charts.Style {
	styles, families, members := map[string]charts.Style{}, map[string]int{}, map[string]int{}
	n := 0
	for _, s := range subjects {
		if s.Role != Lock {
			styles[s.Name] = charts.Style{Color: charts.Grey}
			continue
		}
		family := strings.TrimSuffix(s.Name, tunedSuffix)
		if _, known := families[family]; !known {
			families[family] = len(families)
		}
		f := families[family]
		styles[s.Name] = charts.Style{Color: f % charts.Colors, Dash: members[family] + f/charts.Colors, Marker: n % charts.Markers}
		members[family]++
		n++
	}
	return styles
}

// series returns the line style of each named lock. The names must be sorted by rank, best first.
func (v *view) series(names []string) []charts.Style {
	all := make([]charts.Style, len(names))
	for i, name := range names {
		all[i] = v.styles[name]
		if len(names) > charts.Colors && i >= mostColoured {
			all[i].Color = charts.Grey
		}
	}
	return all
}

func greyed(names []string) string {
	if len(names) <= charts.Colors {
		return ""
	}
	return fmt.Sprintf("In colour are the first %d by rank; in grey: %s.", mostColoured, format.Joined(names[mostColoured:]))
}
