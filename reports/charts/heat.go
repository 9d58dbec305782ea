package charts

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockbench/reports/format"
)

// Heat is a heat map of counts. All columns have the same width, and together they extend from 0 to X.High. Labels mark
// the limits of the rows.
type Heat struct {
	X      Axis
	Edges  []string // labels of the limits between rows, from bottom to top; one more than the number of rows
	Counts [][]int  // counts by column, then by row from bottom to top; missing rows are 0
	Of     string   // plural noun for the counted things, such as "acquires"
	Spans  []Span
}

// Span is a named interval on the horizontal axis.
type Span struct {
	From, To float64
	Name     string
}

type heatMap struct {
	Heat
	most int // highest count in any cell
}

func (h Heat) counted() heatMap {
	return heatMap{h, slices.Max(append(slices.Concat(h.Counts...), 0))}
}

// level returns a colour level for a count, from 1 to heatLevels on a logarithmic scale.
func (h heatMap) level(n int) int {
	if h.most == 1 {
		return heatLevels
	}
	return 1 + int(math.Round((heatLevels-1)*math.Log(float64(n))/math.Log(float64(h.most))))
}

func (h heatMap) color(n int) Class { return Class(fmt.Sprintf("h%d", h.level(n))) }

// SVG returns the heat map as an SVG element.
func (h Heat) SVG(head Head) template.HTML { return Grid{Columns: 1, Panels: []Panel{h}}.SVG(head) }

// height returns the height of the heat map in pixels.
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
	p.Add(margin{top: 48}, drawn(h.counted().draw))
	return p
}

// draw draws the cells, the named intervals and the legend. It omits the name of an interval if the name would overlap
// the previous name.
func (h heatMap) draw(c draw.Canvas, x, y func(float64) vg.Length) {
	at := func(column int) vg.Length { return x(float64(column) * h.X.High / float64(len(h.Counts))) }
	for i, column := range h.Counts {
		for r, n := range column[:min(len(column), len(h.Edges)-1)] {
			if n > 0 {
				fill(c, h.color(n), at(i), y(float64(r)), at(i+1), y(float64(r+1)))
			}
		}
	}
	free := vg.Length(0)
	for _, s := range h.Spans {
		from, to := x(h.X.clamp(s.From)), x(h.X.clamp(s.To))
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
		fill(c, h.color(n), at.X, at.Y-6, at.X+14, at.Y+6)
		at.X += 19
		say(label)
	}
}
