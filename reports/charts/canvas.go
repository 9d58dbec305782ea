// Package drawing makes the charts of pages: shapes on a canvas become SVG that says what it shows, whose colours are the
// page's, and in which nothing is told by colour alone.
package charts

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Canvas collects the shapes of a drawing. Classes are ours; texts come from outside and are escaped.
type Canvas struct {
	Width, Height float64
	b             strings.Builder
}

// The width of a letter, about.
const (
	Glyph     = 6.4
	BoldGlyph = 7.6
)

// Px writes a length; a tenth of a pixel is more than anybody sees.
func Px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Path draws any shape.
func (c *Canvas) Path(class, d string) {
	fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`, class, d)
}

// Line is straight.
func (c *Canvas) Line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<path class="%s" d="M%s %sL%s %s"/>`, class, Px(x1), Px(y1), Px(x2), Px(y2))
}

// Rect is given by its upper left corner.
func (c *Canvas) Rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, Px(x), Px(y), Px(w), Px(h))
}

// Text is anchored at its start, middle or end.
func (c *Canvas) Text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, Px(x), Px(y), html.EscapeString(s))
}

// Dot is a place in a drawing.
type Dot struct{ X, Y float64 }

// Track draws a line through the dots.
func (c *Canvas) Track(s Style, dots []Dot) {
	fmt.Fprintf(&c.b, `<path class="line %s"`, s.Class())
	if s.Dash != "" {
		fmt.Fprintf(&c.b, ` stroke-dasharray="%s"`, s.Dash)
	}
	fmt.Fprintf(&c.b, ` d="%s"/>`, Trace(dots))
}

// Band fills what lies between two lines.
func (c *Canvas) Band(s Style, low, high []Dot) {
	if len(low) == 0 || s.Color == Grey { // in grey there would be nothing but bands
		return
	}
	back := slices.Clone(high)
	slices.Reverse(back)
	fmt.Fprintf(&c.b, `<path class="band %s" d="%sZ"/>`, s.Class(), Trace(slices.Concat(low, back)))
}

// Trace is the path through the dots.
func Trace(dots []Dot) string {
	var b strings.Builder
	for i, d := range dots {
		op := "L"
		if i == 0 {
			op = "M"
		}
		b.WriteString(op + Px(d.X) + " " + Px(d.Y))
	}
	return b.String()
}

// Marker draws the sign of a style.
func (c *Canvas) Marker(s Style, x, y float64) {
	shapes := []string{
		"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", // circle
		"m-3.6 -3.6h7.2v7.2h-7.2z",            // square
		"m0 -4.8l4.6 8h-9.2z",                 // triangle
		"m0 -5l5 5l-5 5l-5 -5z",               // diamond
		"m0 4.8l4.6 -8h-9.2z",                 // triangle that stands on its tip
		"m-4 -4l8 8m0 -8l-8 8",                // cross
	}
	fmt.Fprintf(&c.b, `<path class="mark %s" d="M%s %s%s"/>`, s.Class(), Px(x), Px(y), shapes[s.Marker%len(shapes)])
}

// SVG closes the drawing and names it.
func (c *Canvas) SVG(id, class, title, desc string) template.HTML {
	return template.HTML(fmt.Sprintf(
		`<svg class="plot %s" role="img" aria-labelledby="%s-title %s-desc" viewBox="0 0 %s %s"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>%s</svg>`,
		class, id, id, Px(c.Width), Px(c.Height), id, html.EscapeString(title), id, html.EscapeString(desc), c.b.String()))
}

// Ends writes the names of lines beside their ends, each with a sample of its line, moved apart where they would overlap.
type Ends []End

// End is that of one line.
type End struct {
	Text  string
	Style Style
	At    Dot
}

const (
	EndGap    = 16 // between two names
	endSample = 22 // of the line
)

// Ends draws the names at x.
func (c *Canvas) Ends(all Ends, x, top, bottom float64) {
	slices.SortStableFunc(all, func(a, b End) int { return int(math.Copysign(1, a.At.Y-b.At.Y)) })
	at := make([]float64, len(all))
	for i, e := range all {
		at[i] = e.At.Y
	}
	at = Spread(at, top, bottom)
	for i, e := range all {
		fmt.Fprintf(&c.b, `<path class="lead %s" d="M%s %sL%s %sL%s %s"/>`, e.Style.Class(), Px(e.At.X), Px(e.At.Y), Px(x), Px(e.At.Y), Px(x+12), Px(at[i]))
		c.Track(e.Style, []Dot{{x + 14, at[i]}, {x + 14 + endSample, at[i]}})
		c.Marker(e.Style, x+14+endSample/2, at[i])
		c.Text("", "start", x+20+endSample, at[i]+4, e.Text)
	}
}

// EndsWithin writes names in the room right of a chart.
func (c *Canvas) EndsWithin(labels Ends) {
	for i := range labels {
		labels[i].Text = Short(labels[i].Text, ChartWidth-ChartRight-20-endSample, Glyph)
	}
	c.Ends(labels, ChartRight, ChartTop+4, ChartBottom-2)
}

// Spread moves ascending positions apart by at least endGap, within the bounds if there is room.
func Spread(at []float64, low, high float64) []float64 {
	for i := range at {
		at[i] = max(at[i], low)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+EndGap)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = min(at[i], high)
		if i < len(at)-1 {
			at[i] = min(at[i], at[i+1]-EndGap)
		}
	}
	return at
}

// Short cuts a name that would not fit.
func Short(s string, width, Glyph float64) string {
	letters := []rune(s)
	if n := int(width / Glyph); len(letters) > n && n > 1 {
		return string(letters[:n-1]) + "…"
	}
	return s
}
