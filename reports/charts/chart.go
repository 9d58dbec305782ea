// Package charts draws every chart of the project as SVG. Data goes in as Lines, Rows, Dots, Heat, Lanes or Histogram, or as
// several Panels in a Grid; each has a method SVG that returns an element for a page:
//
//	svg := charts.Percentiles(lines).SVG(charts.Head{ID: "latency", Title: "Latency by percentile"})
//
// Axes, grids, lines, bands and intervals are gonum's. Instead of colours, gonum is given CSS classes, which
// CSS dresses for light and dark pages. Text from outside is escaped, and the same data gives the same bytes.
//
// A Chart is a drawing with its takeaway and its data as a table; the partial "chart" of reports/html shows it.
package charts

import (
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a drawing with what it shows in one sentence, and its data as a table.
type Chart struct {
	ID       string
	Name     string // of the place where it was measured
	Takeaway string
	SVG      template.HTML
	Note     string // what is particular to it, and what it leaves out
	Worded   bool   // the table has words in it, rather than figures
	Head     []string
	Rows     [][]string
}

// Draw fills the chart's drawing. The takeaway describes it.
func (c *Chart) Draw(d interface{ SVG(Head) template.HTML }, title string) {
	c.SVG = d.SVG(Head{ID: c.ID, Title: title, Desc: c.Takeaway})
}

// CSS is the style sheet of drawings. It uses the colours of the page.
//
//go:embed chart.css
var CSS template.CSS

// Slug makes an id of a name: letters that an id must not have become dashes.
func Slug(parts ...string) string {
	return notInSlug.ReplaceAllString(strings.Join(parts, "-"), "-")
}

var notInSlug = regexp.MustCompile(`[^a-zA-Z0-9]`)

// Style is how a subject looks in every chart: a colour, a dash and a marker, so that nothing depends on colour alone.
type Style struct {
	Color  int // one of the Colors of Okabe and Ito, or Grey
	Dash   int // of a line
	Marker int
}

const (
	Colors  = 7  // that can be told apart
	Grey    = -1 // the Color of what stays in the background
	Ink     = 6  // the Color of text
	Markers = 6
)

// StyleAt returns the style of the i-th of several subjects. Any two of the first 42 differ.
func StyleAt(i int) Style {
	return Style{Color: i % Colors, Dash: (i%Colors + i/Colors) % len(dashes), Marker: i % Markers}
}

var dashes = [][]vg.Length{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}, {4, 4}, {13, 3}}

// Class returns the CSS class of the style's colour.
func (s Style) Class() string {
	if s.Color == Grey {
		return "cx"
	}
	return fmt.Sprintf("c%d", s.Color%Colors)
}

func (s Style) stroke(class string) draw.LineStyle {
	return draw.LineStyle{Color: Class(class + " " + s.Class()), Width: 1, Dashes: dashes[s.Dash%len(dashes)]}
}

func stroke(class Class) draw.LineStyle { return draw.LineStyle{Color: class, Width: 1} }

// glyph draws a style's marker; the style sheet gives it both ground and outline.
func (s Style) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: Class("mark " + s.Class()), Radius: 5, Shape: shape(s.Marker % Markers)}
}

func (s Style) mark(c draw.Canvas, at vg.Point) {
	g := s.glyph()
	g.Shape.DrawGlyph(&c, g, at)
}

// shape is an index into the markers.
type shape int

// DrawGlyph implements draw.GlyphDrawer.
func (s shape) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	corners := [Markers][]vg.Point{
		nil, // a circle
		{{X: -.72, Y: -.72}, {X: .72, Y: -.72}, {X: .72, Y: .72}, {X: -.72, Y: .72}},
		{{X: 0, Y: .96}, {X: .92, Y: -.64}, {X: -.92, Y: -.64}},
		{{X: 0, Y: 1}, {X: 1, Y: 0}, {X: 0, Y: -1}, {X: -1, Y: 0}},
		{{X: 0, Y: -.96}, {X: .92, Y: .64}, {X: -.92, Y: .64}},
		{{X: -.8, Y: -.8}, {X: .8, Y: .8}, {X: 0, Y: 0}, {X: -.8, Y: .8}, {X: .8, Y: -.8}, {X: 0, Y: 0}}, // a cross
	}[s]
	var p vg.Path
	for i, k := range corners {
		k = vg.Point{X: at.X + k.X*style.Radius, Y: at.Y + k.Y*style.Radius}
		if i == 0 {
			p.Move(k)
		} else {
			p.Line(k)
		}
	}
	if corners == nil {
		p.Arc(at, .8*style.Radius, 0, 0)
	}
	p.Close()
	c.SetColor(style.Color)
	c.Fill(p)
}

// words is a text style of a class. The size is what the style sheet sets for it.
func words(class Class, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: class, XAlign: x, YAlign: y, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: 12},
		Handler: labels{text.Plain{Fonts: font.DefaultCache}},
	}
}

func width(s string) vg.Length { return words("", text.XLeft, text.YBottom).Width(s) }

func boldWidth(s string) vg.Length { return bolder * width(s) }

func fill(c draw.Canvas, k color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(k)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

func edges(c draw.Canvas, class Class, from, to, y0, y1 vg.Length) {
	for _, x := range []vg.Length{from, to} {
		c.StrokeLine2(stroke(class), x, y0, x, y1)
	}
}

func write(c draw.Canvas, class Class, anchor text.XAlignment, x, y vg.Length, s string) {
	c.FillText(words(class, anchor, text.YCenter), vg.Point{X: x, Y: y}, s)
}

// short cuts a text that is wider than wide pixels.
func short(s string, wide vg.Length, width func(string) vg.Length) string {
	cut := s
	for letters := []rune(s); len(letters) > 1 && width(cut) > wide; cut = string(letters) + "…" {
		letters = letters[:len(letters)-1]
	}
	return cut
}
