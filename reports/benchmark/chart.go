package benchmark

import (
	"html/template"
	"math"
	"strings"
)

// chart is a drawing with what it shows in one sentence, and its data.
type chart struct {
	ID       string
	Name     string // of the place where it was measured
	Takeaway string
	SVG      template.HTML
	Note     string // what is particular to it, and what it leaves out
	Open     bool   // its table is in sight
	Head     []string
	Rows     [][]string
}

// The measures of a drawing, in pixels of its own coordinates.
const (
	chartWidth  = 860
	chartHeight = 330
	chartLeft   = 62
	chartRight  = 660 // beside the names at the ends of the lines
	chartTop    = 14
	chartBottom = 290
)

// slug makes an id of a name: letters that an id must not have become dashes.
func slug(parts ...string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '-'
	}, strings.Join(parts, "-"))
}

// frame draws the axes of a chart with their grid.
func (c *canvas) frame(x, y scale, xTicks, yTicks []tick) {
	for _, t := range yTicks {
		c.line("grid", x.from, y.at(t.at), x.to, y.at(t.at))
		c.text("axis", "end", x.from-8, y.at(t.at)+4, t.text)
	}
	for _, t := range xTicks {
		c.line("grid", x.at(t.at), y.from, x.at(t.at), y.to)
		c.text("axis", "middle", x.at(t.at), y.from+18, t.text)
	}
	c.line("rule", x.from, y.from, x.to, y.from)
}

// tick is a place on an axis.
type tick struct {
	at   float64
	text string
}

func ticksOf(s scale, unit string) []tick {
	var all []tick
	for _, v := range s.ticks() {
		all = append(all, tick{v, strings.TrimSpace(tickText(v) + " " + unit)})
	}
	return all
}

// limits are the least and the greatest of the values that are numbers above 0.
func limits(values []float64) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
