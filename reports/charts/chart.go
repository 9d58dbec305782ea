// Package charts draws all charts as SVG. The data are Lines, Rows, Dots, Heat, Lanes or Histogram, or several Panels in a
// Grid. The method SVG of each returns an element for a page:
//
//	svg := charts.Percentiles(lines).SVG(charts.Head{ID: "latency", Title: "Latency by percentile"})
//
// Axes, grids, lines, bands and intervals are drawn by gonum with CSS classes instead of colours. The variable CSS defines
// their look on light and dark pages. Untrusted text is escaped, and the same data gives the same bytes.
//
// A Chart is a drawing with a takeaway and a table of its data. The partial "chart" of reports/html shows it.
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

// Chart is a drawing with a takeaway, which is one sentence, and a table of its data.
type Chart struct {
	ID       string
	Name     string // name of the place of measurement
	Takeaway string
	SVG      template.HTML
	Note     string // reading aid, and omissions
	Worded   bool   // whether the table has words instead of numbers
	Head     []string
	Rows     [][]string
}

// Draw draws the chart, with the takeaway as its description.
func (c *Chart) Draw(d interface{ SVG(Head) template.HTML }, title string) {
	c.SVG = d.SVG(Head{ID: c.ID, Title: title, Desc: c.Takeaway})
}

// CSS is the style sheet of drawings. It uses the colours of the page.
//
//go:embed chart.css
var CSS template.CSS

// Slug makes an id from a name. Characters that are invalid in an id become dashes.
func Slug(parts ...string) string {
	return notInSlug.ReplaceAllString(strings.Join(parts, "-"), "-")
}

var notInSlug = regexp.MustCompile(`[^a-zA-Z0-9]`)

// Style is the look of a subject in every chart: a colour, a dash and a marker. Nothing depends on colour alone.
type Style struct {
	Color  int // one of the Colors of Okabe and Ito, or Grey
	Dash   int // dash of a line
	Marker int
}

// The numbers of colours and markers, and the values of Color that are not for subjects.
const (
	Colors  = 7  // colours that are easy to distinguish
	Grey    = -1 // Color of the background
	Ink     = 6  // Color of text
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

// glyph draws the marker of a style. The style sheet defines its fill and outline.
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

// words is a text style with a CSS class and the font size that the style sheet sets for it.
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

// short truncates a text to a width in pixels.
func short(s string, wide vg.Length, width func(string) vg.Length) string {
	cut := s
	for letters := []rune(s); len(letters) > 1 && width(cut) > wide; cut = string(letters) + "…" {
		letters = letters[:len(letters)-1]
	}
	return cut
}
