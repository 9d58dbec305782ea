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

func greyed(names []string) string {
	if len(names) <= charts.Colors {
		return ""
	}
	return fmt.Sprintf("In colour are the first %d by rank; in grey: %s.", mostColoured, format.Joined(names[mostColoured:]))
}

func each[T any](of []T, draw func(T) (charts.Chart, bool)) []charts.Chart {
	var all []charts.Chart
	for _, x := range of {
		if c, ok := draw(x); ok {
			all = append(all, c)
		}
	}
	return all
}

// column is one of a chart's table; cell returns the text of a lock.
type column struct {
	head string
	cell func(lock string) string
}

func chartTable(names []string, columns []column) (head []string, rows [][]string) {
	head = []string{"lock"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	for _, name := range names {
		row := []string{name}
		for _, c := range columns {
			row = append(row, c.cell(name))
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (v *view) metricColumn(m Metric, p Point, write func(stats.Estimate) string) column {
	return column{m.Heading(), func(lock string) string {
		if e, ok := v.estimate(lock, p.ID, m.Name); ok {
			return write(e)
		}
		return format.None
	}}
}

func withSpan(e stats.Estimate) string {
	return strings.TrimSpace(format.Significant(e.Median) + " " + format.Span(e.Low, e.High))
}

type extreme struct {
	lock  string
	value float64
}

// extremes returns those with the least and the greatest value; all reports whether each lock has one.
func extremes(locks []string, value func(lock string) (float64, bool)) (least, most extreme, all bool) {
	all = true
	for _, lock := range locks {
		v, ok := value(lock)
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
