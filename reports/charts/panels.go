package charts

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Head holds the id, title and description of a drawing.
type Head struct {
	ID          string // id, unique on the page
	Class       string
	Title, Desc string // title and description for screen readers
}

// Sizes for all drawings, in pixels unless stated otherwise.
const (
	wide      = 860 // width of each drawing, including labels
	rowHeight = 28
	nameMost  = 180 // maximum width of a row's name
	textMost  = 240 // maximum width of a row's text
	endGap    = 16  // minimum distance between the names of two lines
	endSample = 22  // length of the sample line beside a name
	endMost   = 190 // maximum width of a line's name
	endRoom   = 20 + endSample

	maxTicks   = 5    // approximate number of ticks of a linear axis
	heatLevels = 6    // number of colours in a heat map
	wider      = 1.16 // width of text in a browser's font, relative to gonum's font
	bolder     = 1.18 // width of a bold font, relative to the regular one
)

func (h Head) wrap(c *canvas, defs string) template.HTML {
	class, id := strings.TrimSpace("plot "+h.Class), clean(h.ID)
	return template.HTML(fmt.Sprintf(
		`<svg class="%s" role="img" aria-labelledby="%s-title %s-desc" viewBox="0 0 %s %s"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>%s%s</svg>`,
		clean(class), id, id, px(c.width), px(c.height), id, clean(h.Title), id, clean(h.Desc), defs, c.b.String()))
}

// Panel is a drawing with axes: Lines, Rows, Dots or Heat.
type Panel interface {
	plot() *plot.Plot
	height() vg.Length
}

// Grid is a set of panels in rows and columns of equal width, with aligned axes.
type Grid struct {
	Columns int
	Panels  []Panel
}

// SVG returns all panels of the grid as one SVG element.
func (g Grid) SVG(h Head) template.HTML {
	var plots [][]*plot.Plot
	var high vg.Length
	for row := range slices.Chunk(g.Panels, g.Columns) {
		line := make([]*plot.Plot, g.Columns)
		for i, p := range row {
			line[i] = p.plot()
		}
		plots, high = append(plots, line), high+row[0].height()
	}
	c := &canvas{width: wide, height: high}
	all := draw.Crop(draw.NewCanvas(c, wide, high), 2, -8, 2, -4)
	tiles := draw.Tiles{Rows: len(plots), Cols: g.Columns, PadX: 18, PadY: 14}
	for j, row := range plot.Align(plots, tiles, all) {
		for i, at := range row {
			if p := plots[j][i]; p != nil {
				p.Draw(at)
			}
		}
	}
	return h.wrap(c, "")
}

func newPlot(x, y Axis) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	x.set(&p.X, text.XCenter, text.YTop)
	y.set(&p.Y, text.XRight, text.YCenter)
	p.X.Label.Text, p.X.Label.Padding = x.Label, 4
	p.Y.LineStyle.Width, p.Y.Tick.Length, p.Y.Padding = 0, 0, 4
	return p
}

func grid(level bool) *plotter.Grid {
	g := &plotter.Grid{Vertical: stroke("grid")}
	if level {
		g.Horizontal = stroke("grid")
	}
	return g
}

// drawn is a drawing function that implements plot.Plotter. The functions x and y convert data values to positions in
// the drawing.
type drawn func(c draw.Canvas, x, y func(float64) vg.Length)

// Plot implements plot.Plotter.
func (d drawn) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	d(c, x, y)
}

// margin reserves space for text beside the axes, in pixels.
type margin struct{ left, right, top vg.Length }

// Plot implements plot.Plotter and draws nothing.
func (margin) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (m margin) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{
		{X: 0, Y: .5, Rectangle: vg.Rectangle{Min: vg.Point{X: -m.left}}},
		{X: 1, Y: .5, Rectangle: vg.Rectangle{Max: vg.Point{X: m.right}}},
		{X: .5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: m.top}}},
	}
}

// caption writes a title above the axes, with an optional marker, and the label of the vertical axis.
func caption(p *plot.Plot, name, axis string, style *Style) {
	if name == "" && axis == "" {
		return
	}
	p.Add(margin{top: 24}, drawn(func(c draw.Canvas, _, _ func(float64) vg.Length) {
		at := vg.Point{X: c.Min.X, Y: c.Max.Y + 15}
		if style != nil {
			style.mark(c, vg.Point{X: at.X + 5, Y: at.Y})
			at.X += 16
		}
		write(c, "name", text.XLeft, at.X, at.Y, short(name, c.Max.X-at.X, boldWidth))
		write(c, "soft", text.XLeft, c.Min.X, at.Y, axis)
	}))
}

// end holds a line of a chart and the line's last point, beside which the line's name is written.
type end struct {
	line Line
	at   plotter.XY
}

// nameEnds writes the name of each line at the right of the chart, with a short sample of the line. Names do not
// overlap.
func nameEnds(p *plot.Plot, ends []end) {
	widest := vg.Length(0)
	for _, e := range ends {
		widest = max(widest, endRoom+min(endMost, width(e.line.Name)))
	}
	p.Add(margin{right: widest}, drawn(func(c draw.Canvas, x, y func(float64) vg.Length) {
		slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(y(a.at.Y), y(b.at.Y)) })
		var at []vg.Length
		for _, e := range ends {
			at = append(at, y(e.at.Y))
		}
		at = spread(at, c.Min.Y+4, c.Max.Y-2)
		right := c.Max.X
		for i, e := range ends {
			from := vg.Point{X: x(e.at.X), Y: y(e.at.Y)}
			c.StrokeLines(stroke(e.line.ink("lead")), []vg.Point{from, {X: right, Y: from.Y}, {X: right + 12, Y: at[i]}})
			c.StrokeLine2(e.line.stroke(), right+14, at[i], right+14+endSample, at[i])
			if e.line.Class == "" {
				e.line.Style.mark(c, from)
				e.line.Style.mark(c, vg.Point{X: right + 14 + endSample/2, Y: at[i]})
			}
			write(c, "", text.XLeft, right+endRoom, at[i], short(e.line.Name, endMost, width))
		}
	}))
}

// spread returns positions that are at least endGap apart. The positions in the parameter at must be sorted. The result
// lies between low and high if there is room.
func spread(at []vg.Length, low, high vg.Length) []vg.Length {
	for i := range at {
		at[i] = max(at[i], low)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+endGap)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = min(at[i], high)
		if i < len(at)-1 {
			at[i] = min(at[i], at[i+1]-endGap)
		}
	}
	return at
}
