package charts

import (
	"html/template"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Histogram is a small bar chart for a table cell. It shows the number of values in each bin; the first bin starts at 0.
type Histogram struct {
	Width  float64 // width of each bin in units of the horizontal axis
	Counts []int
	Bound  float64              // value at which a line is drawn; 0: no line
	Title  func(bin int) string // function that returns the tooltip of a bar
}

// SVG returns the histogram as an SVG element.
func (b Histogram) SVG(h Head) template.HTML {
	c := &canvas{width: 260, height: 64}
	p := newPlot(Axis{High: b.Width * float64(max(len(b.Counts), 1))}, Axis{High: 1, Ticks: []Tick{}})
	p.Add(drawn(b.draw))
	p.Draw(draw.Crop(draw.NewCanvas(c, c.width, c.height), 2, -10, 2, -4))
	h.Class = "histogram"
	return h.wrap(c, "")
}

func (b Histogram) draw(c draw.Canvas, x, y func(float64) vg.Length) {
	most := slices.Max(append([]int{1}, b.Counts...))
	for i, n := range b.Counts {
		if n == 0 {
			continue
		}
		high := max(c.Min.Y+2, y(float64(n)/float64(most)))
		from, to := x(float64(i)*b.Width), x(float64(i+1)*b.Width)
		fill(c, ink{Class: "times", title: b.Title(i)}, from+.5, c.Min.Y, max(to-.5, from+1), high)
	}
	if at := min(x(b.Bound), c.Max.X); b.Bound > 0 {
		c.StrokeLine2(stroke("bound"), at, c.Min.Y, at, c.Max.Y)
	}
}
