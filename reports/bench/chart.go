package bench

import (
	"fmt"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// mostColoured is how many lines are coloured in a chart that has more lines than there are colours.
const mostColoured = 6

// stylesOf gives each lock a style. A lock and its tuned one share the colour, and differ by dash and marker.
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

// series returns the styles of the lines of one chart, best first.
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

// greyed says which lines are grey, and why.
func greyed(names []string) string {
	if len(names) <= charts.Colors {
		return ""
	}
	return fmt.Sprintf("In colour are the first %d by rank; in grey: %s.", mostColoured, format.Joined(names[mostColoured:]))
}

// each draws a chart for each point at which there is one.
func (v *view) each(draw func(Point) (charts.Chart, bool)) []charts.Chart {
	var all []charts.Chart
	for _, p := range v.compared() {
		if c, ok := draw(p); ok {
			all = append(all, c)
		}
	}
	return all
}

// column is one of a chart's table; cell returns the text of the i-th row.
type column struct {
	head string
	cell func(i int) string
}

// chartTable has a row for each lock.
func chartTable(names []string, columns []column) (head []string, rows [][]string) {
	head = []string{"lock"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	for i, name := range names {
		row := []string{name}
		for _, c := range columns {
			row = append(row, c.cell(i))
		}
		rows = append(rows, row)
	}
	return head, rows
}

// withSpan writes an estimate and its interval.
func withSpan(e stats.Estimate) string {
	return strings.TrimSpace(format.Significant(e.Median) + " " + format.Span(e.Low, e.High))
}

// extremes returns which of n has the least value and which the greatest; all reports whether each has one. Without any,
// both are -1.
func extremes(n int, value func(i int) (float64, bool)) (least, most int, all bool) {
	least, most, all = -1, -1, true
	var low, high float64
	for i := range n {
		v, ok := value(i)
		if !ok {
			all = false
			continue
		}
		if least < 0 || v < low {
			least, low = i, v
		}
		if most < 0 || v > high {
			most, high = i, v
		}
	}
	return least, most, all
}
