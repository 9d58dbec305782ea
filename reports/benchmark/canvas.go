package benchmark

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
)

// canvas collects the shapes of a drawing. Classes are ours; texts come from outside and are escaped.
type canvas struct {
	width, height float64
	b             strings.Builder
}

// The width of a letter, about.
const (
	glyph     = 6.4
	boldGlyph = 7.6
)

// px writes a length; a tenth of a pixel is more than anybody sees.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<path class="%s" d="M%s %sL%s %s"/>`, class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, px(x), px(y), px(w), px(h))
}

// text is anchored at its start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, px(x), px(y), html.EscapeString(s))
}

// dot is a place in a drawing.
type dot struct{ x, y float64 }

// track draws a line through the dots.
func (c *canvas) track(s style, dots []dot) {
	fmt.Fprintf(&c.b, `<path class="line %s"`, s.class())
	if s.dash != "" {
		fmt.Fprintf(&c.b, ` stroke-dasharray="%s"`, s.dash)
	}
	fmt.Fprintf(&c.b, ` d="%s"/>`, trace(dots))
}

// band fills what lies between two lines.
func (c *canvas) band(s style, low, high []dot) {
	if len(low) == 0 || s.color == grey { // in grey there would be nothing but bands
		return
	}
	back := slices.Clone(high)
	slices.Reverse(back)
	fmt.Fprintf(&c.b, `<path class="band %s" d="%sZ"/>`, s.class(), trace(slices.Concat(low, back)))
}

func trace(dots []dot) string {
	var b strings.Builder
	for i, d := range dots {
		op := "L"
		if i == 0 {
			op = "M"
		}
		b.WriteString(op + px(d.x) + " " + px(d.y))
	}
	return b.String()
}

// marker draws the sign of a style.
func (c *canvas) marker(s style, x, y float64) {
	shapes := []string{
		"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", // circle
		"m-3.6 -3.6h7.2v7.2h-7.2z",            // square
		"m0 -4.8l4.6 8h-9.2z",                 // triangle
		"m0 -5l5 5l-5 5l-5 -5z",               // diamond
		"m0 4.8l4.6 -8h-9.2z",                 // triangle that stands on its tip
		"m-4 -4l8 8m0 -8l-8 8",                // cross
	}
	fmt.Fprintf(&c.b, `<path class="mark %s" d="M%s %s%s"/>`, s.class(), px(x), px(y), shapes[s.marker%len(shapes)])
}

// svg closes the drawing and names it.
func (c *canvas) svg(id, class, title, desc string) template.HTML {
	return template.HTML(fmt.Sprintf(
		`<svg class="plot %s" role="img" aria-labelledby="%s-title %s-desc" viewBox="0 0 %s %s"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>%s</svg>`,
		class, id, id, px(c.width), px(c.height), id, html.EscapeString(title), id, html.EscapeString(desc), c.b.String()))
}

// ends writes the names of lines beside their ends, each with a sample of its line, moved apart where they would overlap.
type ends []end

type end struct {
	text  string
	style style
	at    dot
}

const (
	endGap    = 16 // between two names
	endSample = 22 // of the line
)

func (c *canvas) ends(all ends, x, top, bottom float64) {
	slices.SortStableFunc(all, func(a, b end) int { return int(math.Copysign(1, a.at.y-b.at.y)) })
	at := make([]float64, len(all))
	for i, e := range all {
		at[i] = e.at.y
	}
	at = spread(at, top, bottom)
	for i, e := range all {
		fmt.Fprintf(&c.b, `<path class="lead %s" d="M%s %sL%s %sL%s %s"/>`, e.style.class(), px(e.at.x), px(e.at.y), px(x), px(e.at.y), px(x+12), px(at[i]))
		c.track(e.style, []dot{{x + 14, at[i]}, {x + 14 + endSample, at[i]}})
		c.marker(e.style, x+14+endSample/2, at[i])
		c.text("", "start", x+20+endSample, at[i]+4, e.text)
	}
}

// spread moves ascending positions apart by at least endGap, within the bounds if there is room.
func spread(at []float64, low, high float64) []float64 {
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

// short cuts a name that would not fit.
func short(s string, width, glyph float64) string {
	letters := []rune(s)
	if n := int(width / glyph); len(letters) > n && n > 1 {
		return string(letters[:n-1]) + "…"
	}
	return s
}
