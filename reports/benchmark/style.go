package benchmark

import (
	"fmt"
	"strings"

	"lockbench/reports/drawing"
	"lockbench/reports/words"
)

// mostColoured is how many lines a chart colours where it cannot colour all.
const mostColoured = 6

// stylesOf gives each lock a style. A lock and its tuned one share the colour, and differ by dash and marker.
func stylesOf(subjects []Subject) map[string]drawing.Style {
	styles, families := map[string]drawing.Style{}, map[string]int{}
	members := map[string]int{}
	n := 0
	for _, s := range subjects {
		if s.Role != Lock {
			styles[s.Name] = drawing.Style{Color: drawing.Grey}
			continue
		}
		family := strings.TrimSuffix(s.Name, "-tuned")
		if _, known := families[family]; !known {
			families[family] = len(families)
		}
		f := families[family]
		d := drawing.Dashes()
		styles[s.Name] = drawing.Style{Color: f % drawing.Colors, Dash: d[(members[family]+f/drawing.Colors)%len(d)], Marker: n % drawing.Markers}
		members[family]++
		n++
	}
	return styles
}

// series are the styles of the lines of one chart, best first: with too many for the colours, all but the first are grey.
func (v *view) series(names []string) []drawing.Style {
	all := make([]drawing.Style, len(names))
	for i, name := range names {
		all[i] = v.styles[name]
		if len(names) > drawing.Colors && i >= mostColoured {
			all[i].Color = drawing.Grey
		}
	}
	return all
}

// greyed says in words which lines are grey, and why.
func greyed(names []string) string {
	if len(names) <= drawing.Colors {
		return ""
	}
	return fmt.Sprintf("In colour are the first %d by rank; in grey: %s.", mostColoured, words.Joined(names[mostColoured:]))
}
