package bench

import (
	"fmt"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// mostColoured is how many lines a chart colours where it cannot colour all.
const mostColoured = 6

// stylesOf gives each lock a style. A lock and its tuned one share the colour, and differ by dash and marker.
func stylesOf(subjects []Subject) map[string]charts.Style {
	styles, families := map[string]charts.Style{}, map[string]int{}
	members := map[string]int{}
	n := 0
	for _, s := range subjects {
		if s.Role != Lock {
			styles[s.Name] = charts.Style{Color: charts.Grey}
			continue
		}
		family := strings.TrimSuffix(s.Name, "-tuned")
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

// series are the styles of the lines of one chart, best first: with too many for the colours, all but the first are grey.
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

// greyed says in words which lines are grey, and why.
func greyed(names []string) string {
	if len(names) <= charts.Colors {
		return ""
	}
	return fmt.Sprintf("In colour are the first %d by rank; in grey: %s.", mostColoured, format.Joined(names[mostColoured:]))
}
