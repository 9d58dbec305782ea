package charts

import (
	"embed"
	"html/template"
	"math"
	"strings"
)

// Chart is a drawing with what it shows in one sentence, and its data.
type Chart struct {
	ID       string
	Name     string // of the place where it was measured
	Takeaway string
	SVG      template.HTML
	Note     string // what is particular to it, and what it leaves out
	Open     bool   // its table is in sight
	Worded   bool   // the table has words in it, rather than figures
	Head     []string
	Rows     [][]string
}

// Files are the template "chart", which shows a Chart, and the style that it needs beyond that of all pages.
//
//go:embed chart.css chart.html.tmpl
var Files embed.FS

// The measures of a drawing, in pixels of its own coordinates.
const (
	ChartWidth  = 860
	ChartHeight = 330
	ChartLeft   = 62
	ChartRight  = 660 // beside the names at the ends of the lines
	ChartTop    = 14
	ChartBottom = 290
)

// Slug makes an id of a name: letters that an id must not have become dashes.
func Slug(parts ...string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '-'
	}, strings.Join(parts, "-"))
}

// Frame draws the axes of a chart with their grid.
func (c *Canvas) Frame(x, y Scale, xTicks, yTicks []Tick) {
	for _, t := range yTicks {
		c.Line("grid", x.From, y.At(t.At), x.To, y.At(t.At))
		c.Text("axis", "end", x.From-8, y.At(t.At)+4, t.Text)
	}
	for _, t := range xTicks {
		c.Line("grid", x.At(t.At), y.From, x.At(t.At), y.To)
		c.Text("axis", "middle", x.At(t.At), y.From+18, t.Text)
	}
	c.Line("rule", x.From, y.From, x.To, y.From)
}

// Tick is a place on an axis.
type Tick struct {
	At   float64
	Text string
}

// TicksOf are a scale's own, with their unit.
func TicksOf(s Scale, unit string) []Tick {
	var all []Tick
	for _, v := range s.Ticks() {
		all = append(all, Tick{v, strings.TrimSpace(TickText(v) + " " + unit)})
	}
	return all
}

// Limits are the least and the greatest of the values that are numbers above 0.
func Limits(values []float64) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
