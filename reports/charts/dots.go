package charts

import (
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Dots is a scatter chart with named dots.
type Dots struct {
	Title string // title above the axes
	X, Y  Axis
	Dots  []Dot
}

// Dot is a point in the chart that stands for one lock.
type Dot struct {
	Name   string
	X, Y   float64
	Style  Style
	Hollow bool // whether to draw only the outline, as for a lock that starves clients
}

// SVG returns the chart as an SVG element.
func (d Dots) SVG(h Head) template.HTML { return Grid{Columns: 1, Panels: []Panel{d}}.SVG(h) }

func (Dots) height() vg.Length { return 230 }

func (d Dots) plot() *plot.Plot {
	var xs, ys []float64
	for _, dot := range d.Dots {
		xs, ys = append(xs, dot.X), append(ys, dot.Y)
	}
	d.X, d.Y = d.X.fit(xs), d.Y.fit(ys)
	p := newPlot(d.X, d.Y)
	p.Add(grid(true), drawn(d.draw))
	caption(p, d.Title, "", nil)
	return p
}

// Size of a dot and of its name, in pixels.
const (
	dotRadius  = 5
	nameHeight = 15
	nameGap    = 9 // horizontal distance from the centre of a dot to its name
)

func (d Dots) draw(c draw.Canvas, x, y func(float64) vg.Length) {
	var taken []vg.Rectangle
	for _, dot := range d.Dots {
		taken = append(taken, centredRectangle(dot.place(x, y), -dotRadius, dotRadius, 2*dotRadius))
	}
	for _, dot := range d.Dots {
		at, most := dot.place(x, y), vg.Length(nameMost)
		if dot.Hollow {
			most = textMost
		}
		label := short(dot.Name, most, width)
		name, right := place(c.Rectangle, taken, at, width(label))
		taken = append(taken, name)
		middle := (name.Min.Y + name.Max.Y) / 2
		side, start := text.XLeft, name.Min.X
		if !right {
			side, start = text.XRight, name.Max.X
		}
		if middle != at.Y {
			c.StrokeLine2(stroke(Class("lead "+dot.Style.Class())), at.X, at.Y, start, middle)
		}
		class, named := Class("dot "+dot.Style.Class()), Class("")
		if dot.Hollow {
			class, named = "starving", "starving"
		}
		glyph := dot.Style.glyph()
		glyph.Color = class
		glyph.Shape.DrawGlyph(&c, glyph, at)
		write(c, named, side, start, middle, label)
	}
}

func (d Dot) place(x, y func(float64) vg.Length) vg.Point { return vg.Point{X: x(d.X), Y: y(d.Y)} }

// centredRectangle returns a rectangle with its vertical centre at a point. The offsets left and right are relative to
// the point.
func centredRectangle(at vg.Point, left, right, height vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: at.X + left, Y: at.Y - height/2}, Max: vg.Point{X: at.X + right, Y: at.Y + height/2}}
}

// place returns a rectangle for the label of a dot. Of several positions, it chooses the one that overlaps other elements
// least. If several positions overlap equally, it chooses the one nearest to the dot. The second result reports whether the
// label is to the right of the dot.
func place(within vg.Rectangle, taken []vg.Rectangle, at vg.Point, wide vg.Length) (name vg.Rectangle, right bool) {
	least := math.Inf(1)
	for step := range 48 {
		up := vg.Length((step+2)/4) * nameHeight
		if step%4 > 1 {
			up = -up
		}
		left, end := vg.Length(nameGap), nameGap+wide
		if step%2 == 1 {
			left, end = -end, -left
		}
		here := centredRectangle(vg.Point{X: at.X, Y: at.Y + up}, left, end, nameHeight)
		hidden := uncoveredArea(here, within)
		for _, other := range taken {
			hidden += overlap(here, other)
		}
		if hidden < least {
			name, right, least = here, step%2 == 0, hidden
		}
	}
	return name, right
}

func overlap(a, b vg.Rectangle) float64 {
	wide := min(a.Max.X, b.Max.X) - max(a.Min.X, b.Min.X)
	high := min(a.Max.Y, b.Max.Y) - max(a.Min.Y, b.Min.Y)
	return float64(max(0, wide) * max(0, high))
}

// uncoveredArea returns the area of the part of rectangle a that rectangle b does not cover.
func uncoveredArea(a, b vg.Rectangle) float64 {
	return float64((a.Max.X-a.Min.X)*(a.Max.Y-a.Min.Y)) - overlap(a, b)
}
