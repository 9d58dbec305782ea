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

// heatLevels is the number of colours.
const heatLevels = 6

// heatMap is gonum's view of a Heat, and its palette.
type heatMap struct {
	Heat
	most int // in one cell
}

func (h Heat) counted() heatMap {
	m := heatMap{Heat: h}
	for _, column := range h.Counts {
		m.most = max(m.most, slices.Max(append([]int{0}, column...)))
	}
	return m
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

func (h Heat) rows() int { return len(h.Edges) - 1 }

// height keeps a map of few rows from being a thin stripe.
func (h Heat) height() vg.Length {
	return vg.Length(float64(h.rows())*min(26, max(11, 180/float64(h.rows())))) + 96
}

func (h Heat) plot() *plot.Plot {
	y := Axis{High: float64(h.rows()), Ticks: []Tick{}}
	for r := 0; r < len(h.Edges); r += max(1, (h.rows()+7)/8) {
		y.Ticks = append(y.Ticks, Tick{float64(r), h.Edges[r]})
	}
	p := newPlot(h.X, y)
	p.Y.Tick.Length = 4
	m := h.counted()
	p.Add(&plotter.HeatMap{GridXYZ: m, Palette: m, Min: 1, Max: heatLevels})
	p.Add(m)
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
		c.SetColor(Class("fault"))
		c.Fill(vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: max(to, from+2), Y: c.Max.Y + 6}}.Path())
		for _, at := range []vg.Length{from, to} {
			c.StrokeLine2(stroke("fault-edge"), at, c.Min.Y, at, c.Max.Y+6)
		}
		if at := min(from, c.Max.X-boldWidth(s.Name)); at >= free {
			c.FillText(words("fault-name", text.XLeft, text.YCenter), vg.Point{X: at, Y: c.Max.Y + 14}, s.Name)
			free = at + boldWidth(s.Name) + 8
		}
	}
	h.legend(c, vg.Point{X: c.Min.X, Y: c.Max.Y + 36})
}

// legend says how many a colour stands for.
func (h heatMap) legend(c draw.Canvas, at vg.Point) {
	say := func(s string) {
		c.FillText(words("axis", text.XLeft, text.YCenter), at, s)
		at.X += width(s) + 16
	}
	say(h.Of + " in a cell:")
	for n := 1; n <= h.most; {
		level, last := h.level(n), n
		for last < h.most && h.level(last+1) == level {
			last++
		}
		c.SetColor(h.Colors()[level-1])
		c.Fill(vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - 6}, Max: vg.Point{X: at.X + 14, Y: at.Y + 6}}.Path())
		at.X += 19
		if last > n {
			say(format.Count(n) + " to " + format.Count(last))
		} else {
			say(format.Count(n))
		}
		n = last + 1
	}
}
