package benchmark

import (
	"fmt"
	"strings"
)

// style is how a subject looks in every chart: a colour, a dash and a marker, so that colour is never alone.
type style struct {
	color  int // 0 to 6, of Okabe and Ito; grey for the rest
	dash   string
	marker int
}

// colors are as many as Okabe and Ito tell apart.
const (
	colors  = 7
	grey    = -1
	markers = 6
)

// mostColoured is how many lines a chart colours where it cannot colour all.
const mostColoured = 6

func dashes() []string { return []string{"", "7 3", "2 3", "9 3 2 3", "4 4", "13 3"} }

// stylesOf gives each lock a style. A lock and its tuned one share the colour, and differ by dash and marker.
func stylesOf(subjects []Subject) map[string]style {
	styles, families := map[string]style{}, map[string]int{}
	members := map[string]int{}
	n := 0
	for _, s := range subjects {
		if s.Role != Lock {
			styles[s.Name] = style{color: grey}
			continue
		}
		family := strings.TrimSuffix(s.Name, "-tuned")
		if _, known := families[family]; !known {
			families[family] = len(families)
		}
		f := families[family]
		d := dashes()
		styles[s.Name] = style{color: f % colors, dash: d[(members[family]+f/colors)%len(d)], marker: n % markers}
		members[family]++
		n++
	}
	return styles
}

// classOf is the class by which the page's style colours it.
func (s style) class() string {
	if s.color == grey {
		return "cx"
	}
	return fmt.Sprintf("c%d", s.color)
}

// series are the styles of the lines of one chart, best first: with too many for the colours, all but the first are grey.
func (v *view) series(names []string) []style {
	all := make([]style, len(names))
	for i, name := range names {
		all[i] = v.styles[name]
		if len(names) > colors && i >= mostColoured {
			all[i].color = grey
		}
	}
	return all
}

// greyed says in words which lines are grey, and why.
func greyed(names []string) string {
	if len(names) <= colors {
		return ""
	}
	return fmt.Sprintf("In colour are the first %d by rank; in grey: %s.", mostColoured, joined(names[mostColoured:]))
}
