package charts

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"lockbench/reports/format"
)

// Class holds CSS class names in place of a colour. It implements color.Color so that gonum accepts it.
type Class string

// RGBA implements color.Color. Its result is not used.
func (Class) RGBA() (r, g, b, a uint32) { return 0, 0, 0, math.MaxUint16 }

// ink is a Class with further SVG attributes.
type ink struct {
	Class
	title  string // text of the tooltip
	fill   string // value of the fill attribute, such as the URL of an SVG pattern; empty: set by the style sheet
	anchor string // text-anchor attribute: start, middle or end
}

// canvas implements vg.Canvas and writes SVG elements with CSS classes. The unit is a pixel, and the origin is the
// lower left corner.
type canvas struct {
	width, height vg.Length
	ink           ink
	dashes        []vg.Length
	line          vg.Length
	b             strings.Builder
}

var _ vg.Canvas = (*canvas)(nil)

func (c *canvas) SetLineDash(d []vg.Length, _ vg.Length) { c.dashes = d }

// SetColor implements vg.Canvas.
func (c *canvas) SetColor(k color.Color) {
	class, isClass := k.(Class)
	if c.ink, _ = k.(ink); isClass {
		c.ink.Class = class
	}
}

// SetLineWidth implements vg.Canvas. A width of 0 hides lines. The style sheet sets the width of visible lines.
func (c *canvas) SetLineWidth(w vg.Length) { c.line = w }

// Rotate, Translate, Scale, Push, Pop and DrawImage implement vg.Canvas. They do nothing, because charts do not need them.
func (*canvas) Rotate(float64)                      {}
func (*canvas) Translate(vg.Point)                  {}
func (*canvas) Scale(_, _ float64)                  {}
func (*canvas) Push()                               {}
func (*canvas) Pop()                                {}
func (*canvas) DrawImage(vg.Rectangle, image.Image) {}
func (c *canvas) Size() (width, height vg.Length)   { return c.width, c.height }
func (c *canvas) y(y vg.Length) string              { return px(c.height - y) }
func (c *canvas) at(p vg.Point) string              { return px(p.X) + " " + c.y(p.Y) }

func px(v vg.Length) string {
	return strconv.FormatFloat(math.Round(float64(v)*10)/10+0, 'f', -1, 64) // adding 0 turns -0 into 0
}

func (c *canvas) Stroke(p vg.Path) {
	if c.line <= 0 {
		return
	}
	dashes := ""
	if len(c.dashes) > 0 { // Sprint writes the dash lengths in the form [7 3]
		dashes = fmt.Sprintf(` stroke-dasharray="%s"`, strings.Trim(fmt.Sprint(c.dashes), "[]"))
	}
	c.element("path", fmt.Sprintf(`%s d="%s"`, dashes, c.path(p)))
}

// Fill implements vg.Canvas. It writes a rect element if the path is a rectangle with horizontal and vertical sides.
func (c *canvas) Fill(p vg.Path) {
	if r, ok := rectangle(p); ok {
		c.element("rect", fmt.Sprintf(` x="%s" y="%s" width="%s" height="%s"`, px(r.Min.X), c.y(r.Max.Y), px(r.Size().X), px(r.Size().Y)))
		return
	}
	c.element("path", fmt.Sprintf(` d="%s"`, c.path(p)))
}

func (c *canvas) FillString(_ font.Face, at vg.Point, s string) {
	fmt.Fprintf(&c.b, `<text%s text-anchor="%s" x="%s" y="%s">%s</text>`, c.class(), c.ink.anchor, px(at.X), c.y(at.Y), clean(s))
}

func (c *canvas) element(name, attributes string) {
	fmt.Fprintf(&c.b, "<%s%s%s", name, c.class(), attributes)
	k := c.ink
	if k.fill != "" {
		fmt.Fprintf(&c.b, ` fill="%s"`, html.EscapeString(k.fill))
	}
	if k.title == "" {
		c.b.WriteString("/>")
		return
	}
	fmt.Fprintf(&c.b, "><title>%s</title></%s>", clean(k.title), name)
}

func clean(s string) string { return html.EscapeString(format.Clean(s)) }

func (c *canvas) class() string {
	if c.ink.Class == "" {
		return ""
	}
	return fmt.Sprintf(` class="%s"`, html.EscapeString(string(c.ink.Class)))
}

func (c *canvas) path(p vg.Path) string {
	var b strings.Builder
	for _, s := range p {
		switch s.Type {
		case vg.MoveComp:
			b.WriteString("M" + c.at(s.Pos))
		case vg.LineComp:
			b.WriteString("L" + c.at(s.Pos))
		case vg.ArcComp: // every arc is a full circle, so its angles are ignored
			r := px(s.Radius)
			fmt.Fprintf(&b, "M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 -%s 0", px(s.Pos.X-s.Radius), c.y(s.Pos.Y), r, r, px(2*s.Radius), r, r, px(2*s.Radius))
		case vg.CloseComp:
			b.WriteString("Z")
		}
	}
	return b.String()
}

func rectangle(p vg.Path) (r vg.Rectangle, ok bool) {
	if len(p) != 5 || p[4].Type != vg.CloseComp {
		return r, false
	}
	r = vg.Rectangle{Min: p[0].Pos, Max: p[2].Pos}
	return r, p[1].Pos == vg.Point{X: r.Max.X, Y: r.Min.Y} && p[3].Pos == vg.Point{X: r.Min.X, Y: r.Max.Y}
}

// labels measures and draws text. Widths are approximate, because browsers use a different font than gonum.
type labels struct{ text.Plain }

// Box implements text.Handler.
func (l labels) Box(s string, f font.Font) (width, height, depth vg.Length) {
	width, height, depth = l.Plain.Box(s, f)
	return wider * width, height, depth
}

// Draw implements text.Handler for one horizontal line of text.
func (l labels) Draw(c vg.Canvas, s string, style text.Style, at vg.Point) {
	if s == "" {
		return
	}
	class, _ := style.Color.(Class)
	c.SetColor(ink{Class: class, anchor: map[text.XAlignment]string{text.XLeft: "start", text.XCenter: "middle", text.XRight: "end"}[style.XAlign]})
	ascent := l.Extents(style.Font).Ascent
	at.Y += style.Height(s)*vg.Length(style.YAlign) - ascent + style.Font.Size
	c.FillString(font.Face{}, at, s)
}
