// Package charts draws charts as SVG. The types Lines, Rows, Dots, Heat, Lanes, Histogram and Grid hold the data of a
// chart. Each type has a method SVG, which returns an SVG element for a page:
//
//	svg := charts.Percentiles(lines).SVG(charts.Head{ID: "latency", Title: "Latency by percentile"})
//
// The style sheet CSS sets the colours, for light and dark pages. Untrusted text is escaped. Equal data gives equal
// bytes. The package gonum.org/v1/plot draws axes and lines.
//
// A Chart is a drawing with a one-sentence conclusion and a data table. The template "chart" of package reports/html
// shows a Chart.
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

// Chart is a drawing with a one-sentence conclusion and a table of its data.
type Chart struct {
	ID       string
	Name     string // short name of the chart's test conditions
	Takeaway string
	SVG      template.HTML
	Note     string // help for reading the chart, and remarks on omitted data
	Worded   bool   // whether the table cells hold words instead of numbers
	Head     []string
	Rows     [][]string
}

// Draw renders a drawing into c.SVG. The takeaway becomes the description for screen readers.
func (c *Chart) Draw(d interface{ SVG(Head) template.HTML }, title string) {
	c.SVG = d.SVG(Head{ID: c.ID, Title: title, Desc: c.Takeaway})
}

// CSS is the style sheet of all charts. It uses the colour variables of the page.
//
//go:embed chart.css
var CSS template.CSS

// Slug returns an HTML id made from names. Each character other than an ASCII letter or digit becomes a dash.
func Slug(parts ...string) string {
	return notInSlug.ReplaceAllString(strings.Join(parts, "-"), "-")
}

var notInSlug = regexp.MustCompile(`[^a-zA-Z0-9]`)

// Style is the appearance of one lock in all charts. Lines also differ in dash and marker, for readers who cannot see
// colours.
type Style struct {
	Color  int // index from 0 to Colors-1, or Grey
	Dash   int // index of the dash pattern
	Marker int
}

// Number of colours and of markers, and special values for Style.Color.
const (
	Colors  = 7  // number of colours, from the palette of Okabe and Ito
	Grey    = -1 // value of Style.Color for lines in the background, drawn in grey
	Ink     = 6  // value of Style.Color for the text colour
	Markers = 6
)

// StyleAt returns the style for index i. The styles for 0 to 41 all differ.
func StyleAt(i int) Style {
	return Style{Color: i % Colors, Dash: (i%Colors + i/Colors) % len(dashes), Marker: i % Markers}
}

var dashes = [][]vg.Length{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}, {4, 4}, {13, 3}}

// Class returns the CSS class for the colour of the style.
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

// glyph returns the marker of a style. The style sheet sets the fill and the outline.
func (s Style) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: Class("mark " + s.Class()), Radius: 5, Shape: shape(s.Marker % Markers)}
}

func (s Style) mark(c draw.Canvas, at vg.Point) {
	g := s.glyph()
	g.Shape.DrawGlyph(&c, g, at)
}

// shape selects the shape of a marker, such as 0 for a circle.
type shape int

// DrawGlyph implements draw.GlyphDrawer.
func (s shape) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	corners := [Markers][]vg.Point{
		nil, // marker 0 is a circle, which has no corners
		{{X: -.72, Y: -.72}, {X: .72, Y: -.72}, {X: .72, Y: .72}, {X: -.72, Y: .72}},
		{{X: 0, Y: .96}, {X: .92, Y: -.64}, {X: -.92, Y: -.64}},
		{{X: 0, Y: 1}, {X: 1, Y: 0}, {X: 0, Y: -1}, {X: -1, Y: 0}},
		{{X: 0, Y: -.96}, {X: .92, Y: .64}, {X: -.92, Y: .64}},
		{{X: -.8, Y: -.8}, {X: .8, Y: .8}, {X: 0, Y: 0}, {X: -.8, Y: .8}, {X: .8, Y: -.8}, {X: 0, Y: 0}}, // the last marker is a cross
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

// words returns a text style with a CSS class. The font size must match the style sheet.
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

// short returns a text cut to a maximum width in pixels. A text that was cut ends with an ellipsis.
func short(s string, wide vg.Length, width func(string) vg.Length) string {
	cut := s
	for letters := []rune(s); len(letters) > 1 && width(cut) > wide; cut = string(letters) + "…" {
		letters = letters[:len(letters)-1]
	}
	return cut
}
