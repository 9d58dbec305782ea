package charts

import (
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockbench/reports/format"
)

// Heat is a map of counts: columns of equal width from 0 to X.High, and rows between labelled edges.
type Heat struct {
	X      Axis
	Edges  []string // from below, one more than there are rows
	Counts [][]int  // by column, then by row from below; a short column has zeros above
	Of     string   // what is counted, for the legend
	Spans  []Span
}

// Span is a named part of the horizontal axis.
type Span struct {
	From, To float64
	Name     string
}

const heatLevels = 6

// heatMap is gonum's view of a Heat, and its palette.
type heatMap struct {
	Heat
	most int // in one cell
}

func (h Heat) counted() heatMap {
	return heatMap{h, slices.Max(append(slices.Concat(h.Counts...), 0))}
}

// level returns the colour of a count, from 1 to heatLevels by its logarithm.
func (h heatMap) level(n int) int {
	if h.most == 1 {
		return heatLevels
	}
	return 1 + int(math.Round((heatLevels-1)*math.Log(float64(n))/math.Log(float64(h.most))))
}

// Dims, X, Y and Z implement plotter.GridXYZ: a row is one unit high, and an empty cell is not a number.
func (h heatMap) Dims() (columns, rows int) { return len(h.Counts), len(h.Edges) - 1 }
func (h heatMap) X(c int) float64           { return (float64(c) + .5) * h.Heat.X.High / float64(len(h.Counts)) }
func (h heatMap) Y(r int) float64           { return float64(r) + .5 }
func (h heatMap) Z(c, r int) float64 {
	if r >= len(h.Counts[c]) || h.Counts[c][r] == 0 {
		return math.NaN()
	}
	return float64(h.level(h.Counts[c][r]))
}

// Colors implements palette.Palette.
func (h heatMap) Colors() []color.Color {
	all := make([]color.Color, heatLevels)
	for i := range all {
		all[i] = Class(fmt.Sprintf("h%d", i+1))
	}
	return all
}

// SVG draws the map.
func (h Heat) SVG(head Head) template.HTML { return Grid{Columns: 1, Panels: []Panel{h}}.SVG(head) }

// height keeps a map of few rows from being a thin stripe.
func (h Heat) height() vg.Length {
	rows := vg.Length(len(h.Edges) - 1)
	return rows*min(26, max(11, 180/rows)) + 96
}

func (h Heat) plot() *plot.Plot {
	rows := len(h.Edges) - 1
	y := Axis{High: float64(rows), Ticks: []Tick{}}
	for r := 0; r <= rows; r += max(1, (rows+7)/8) {
		y.Ticks = append(y.Ticks, Tick{float64(r), h.Edges[r]})
	}
	p := newPlot(h.X, y)
	p.Y.Tick.Length = 4
	m := h.counted()
	p.Add(&plotter.HeatMap{GridXYZ: m, Palette: m, Min: 1, Max: heatLevels}, m)
	return p
}

// GlyphBoxes implements plot.GlyphBoxer, to make room for the legend and the names of spans.
func (h heatMap) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: .5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: 48}}}}
}

// Plot implements plot.Plotter: the spans across the map, each named if there is room, and the legend above.
func (h heatMap) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	free := vg.Length(0)
	for _, s := range h.Spans {
		from, to := x(h.Heat.X.clamp(s.From)), x(h.Heat.X.clamp(s.To))
		fill(c, Class("fault"), from, c.Min.Y, max(to, from+2), c.Max.Y+6)
		edges(c, "fault-edge", from, to, c.Min.Y, c.Max.Y+6)
		if at := min(from, c.Max.X-boldWidth(s.Name)); at >= free {
			write(c, "fault-name", text.XLeft, at, c.Max.Y+14, s.Name)
			free = at + boldWidth(s.Name) + 8
		}
	}
	h.legend(c, vg.Point{X: c.Min.X, Y: c.Max.Y + 36})
}

func (h heatMap) legend(c draw.Canvas, at vg.Point) {
	say := func(s string) {
		write(c, "axis", text.XLeft, at.X, at.Y, s)
		at.X += width(s) + 16
	}
	say(h.Of + " in a cell:")
	for n := 1; n <= h.most; n++ {
		level, label := h.level(n), format.Count(n)
		for first := n; n < h.most && h.level(n+1) == level; {
			n++
			label = format.Count(first) + " to " + format.Count(n)
		}
		fill(c, h.Colors()[level-1], at.X, at.Y-6, at.X+14, at.Y+6)
		at.X += 19
		say(label)
	}
}
