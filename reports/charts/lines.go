package charts

import (
	"html/template"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lines is a line chart with a name at the end of each line. The first line is drawn on top.
type Lines struct {
	Title  string // title above the axes, if the chart is one of several
	Marker *Style // marker before the title; nil: none
	X, Y   Axis
	Lines  []Line
	Rules  []Rule
	Height float64 // height in pixels; 0: default
}

// Line is a line of a chart, usually for one lock.
type Line struct {
	Name   string // name at the end of the line; empty: no name
	Style  Style
	Class  string // CSS class that replaces the colour and dash of Style
	Points []Point
	Marks  bool // whether to draw markers at the points, and to draw intervals as whiskers instead of a band
	Area   bool // whether the area below the line is filled
	Alone  bool // whether to omit the line between the points
}

// Point is a point on a line. Low and High are the bounds of an interval around Y. Both are 0 if there is no interval.
type Point struct {
	X, Y, Low, High float64
	Text            string // label drawn next to the point
}

func (p Point) interval() bool { return p.Low != 0 || p.High != 0 }

// Rule is a horizontal or vertical line across the whole chart.
type Rule struct {
	At       float64
	Upright  bool
	Text     string
	Emphasis bool // whether to highlight the line as a wide, translucent band
}

// SVG returns the chart as an SVG element.
func (l Lines) SVG(h Head) template.HTML { return Grid{Columns: 1, Panels: []Panel{l}}.SVG(h) }

func (l Lines) height() vg.Length {
	if l.Height > 0 {
		return vg.Length(l.Height)
	}
	return 330
}

func (l Lines) plot() *plot.Plot {
	l.Lines = slices.Clone(l.Lines)
	l.spread()
	xs, ys := l.values()
	for _, r := range l.Rules {
		if !r.Upright {
			ys = append(ys, r.At)
		}
	}
	if l.X.Low == 0 && l.X.High == 0 && len(xs) > 0 {
		l.X.Low, l.X.High = slices.Min(xs), slices.Max(xs)
	}
	l.Y = l.Y.fit(ys)
	p := newPlot(l.X, l.Y)
	p.Add(grid(true))
	for _, r := range l.Rules {
		p.Add(drawn(r.draw))
	}
	var ends []end
	for _, line := range slices.Backward(l.Lines) {
		line.add(p, l.Y)
		if line.Name != "" && len(line.Points) > 0 {
			last := line.Points[len(line.Points)-1]
			ends = append(ends, end{line, plotter.XY{X: last.X, Y: l.Y.clamp(last.Y)}})
		}
	}
	nameEnds(p, ends)
	caption(p, l.Title, l.Y.Label, l.Marker)
	return p
}

func (l Lines) values() (xs, ys []float64) {
	for _, line := range l.Lines {
		for _, p := range line.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if p.interval() {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	return xs, ys
}

// spread shifts the lines slightly to the left or right, so that whiskers of different lines do not overlap.
func (l *Lines) spread() {
	n := 0
	for _, line := range l.Lines {
		if line.Marks && !line.Alone {
			n++
		}
	}
	if n < 2 || len(l.Lines[0].Points) == 0 {
		return
	}
	xs, _ := l.values()
	low, high := slices.Min(xs), slices.Max(xs)
	const most = .045 // maximum shift of a line, as a fraction of the range of x values
	moved := func(x, by float64) float64 { return x + by*(high-low) }
	room := max(most*(high-low), .5)
	l.X.Low, l.X.High = low-room, high+room
	if l.X.Log {
		moved = func(x, by float64) float64 { return x * math.Pow(high/low, by) }
		room = max(math.Pow(high/low, most), 1.1)
		l.X.Low, l.X.High = low/room, high*room
	}
	for i := range l.Lines {
		by := most * (float64(i)/float64(n-1) - .5) * min(1, float64(n)/6)
		l.Lines[i].Points = slices.Clone(l.Lines[i].Points)
		for j := range l.Lines[i].Points {
			l.Lines[i].Points[j].X = moved(l.Lines[i].Points[j].X, by)
		}
	}
}

// add draws one line with its band, whiskers and markers.
func (l Line) add(p *plot.Plot, y Axis) {
	var line, low, high, at plotter.XYs
	var spans plotter.YErrors
	for _, q := range l.Points {
		p := plotter.XY{X: q.X, Y: y.clamp(q.Y)}
		line = append(line, p)
		if q.interval() {
			bottom, top := y.clamp(q.Low), y.clamp(q.High)
			low, high = append(low, plotter.XY{X: q.X, Y: bottom}), append(high, plotter.XY{X: q.X, Y: top})
			at, spans = append(at, p), append(spans, struct{ Low, High float64 }{p.Y - bottom, top - p.Y})
		}
	}
	if !l.Marks && len(low) > 1 && l.Style.Color != Grey { // grey lines have no bands, which would hide the other lines
		slices.Reverse(high)
		p.Add(&plotter.Polygon{XYs: []plotter.XYs{slices.Concat(low, high)}, Color: l.ink("band")})
	}
	joined := &plotter.Line{XYs: line, LineStyle: l.stroke()}
	if l.Area {
		joined.FillColor = l.ink("band")
	}
	if !l.Alone {
		p.Add(joined)
	}
	if l.Marks && len(at) > 0 {
		p.Add(&plotter.YErrorBars{XYs: at, YErrors: spans, LineStyle: stroke(l.ink("whisker")), CapWidth: 8})
	}
	if l.Marks && l.Class == "" {
		p.Add(&plotter.Scatter{XYs: line, GlyphStyle: l.Style.glyph()})
	}
	p.Add(drawn(func(c draw.Canvas, x, upright func(float64) vg.Length) {
		for _, q := range l.Points {
			write(c, "", text.XLeft, x(q.X)+9, upright(y.clamp(q.Y))+10, q.Text)
		}
	}))
}

func (l Line) stroke() draw.LineStyle {
	if l.Class != "" {
		return stroke(Class(l.Class))
	}
	return l.Style.stroke("line")
}

func (l Line) ink(class string) Class { return Class(class + " " + l.Style.Class()) }

func (r Rule) draw(c draw.Canvas, x, y func(float64) vg.Length) {
	class := Class("ruled")
	if r.Emphasis {
		class = "emphasis"
	}
	if !r.Upright {
		at := y(r.At)
		c.StrokeLine2(stroke(class), c.Min.X, at, c.Max.X, at)
		if at += 9; at > c.Max.Y-6 {
			at -= 18 // there is no room above the line: put the text below
		}
		write(c, "soft", text.XLeft, c.Min.X+6, at, r.Text)
		return
	}
	at := x(r.At)
	c.StrokeLine2(stroke(class), at, c.Min.Y, at, c.Max.Y)
	side, by := text.XLeft, vg.Length(8)
	if at > c.Center().X {
		side, by = text.XRight, -8
	}
	write(c, "soft", side, at+by, c.Max.Y-8, r.Text)
}
