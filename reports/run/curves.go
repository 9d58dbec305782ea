package run

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"

	"lockbench/reports/figures"
	"lockbench/reports/format"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// curve is one lock's distribution in a chart.
type curve struct {
	Label  string
	Points []figures.Percentile
}

// The chart, in points.
const (
	chartWidth  = 720
	chartHeight = 320
	labelWidth  = 150 // right of the plot, for the names at the ends of the lines
	labelGap    = 13  // between two of them, at least
)

// paint is a colour of Okabe and Ito, and the variable of the page's style that stands for it: the page
// says how each looks on a light and on a dark ground.
type paint struct {
	rgb      color.RGBA
	variable string
}

func paints() []paint {
	return []paint{
		{color.RGBA{0x00, 0x72, 0xB2, 0xFF}, "var(--blue)"},
		{color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, "var(--vermillion)"},
		{color.RGBA{0x00, 0x9E, 0x73, 0xFF}, "var(--green)"},
		{color.RGBA{0xCC, 0x79, 0xA7, 0xFF}, "var(--purple)"},
		{color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, "var(--orange)"},
		{color.RGBA{0x56, 0xB4, 0xE9, 0xFF}, "var(--sky)"},
		{color.RGBA{0x00, 0x00, 0x00, 0xFF}, "currentColor"},
	}
}

func gridColor() color.RGBA { return color.RGBA{0x80, 0x80, 0x80, 0xFF} }

func dashes() [][]vg.Length {
	return [][]vg.Length{nil, {7, 3}, {2, 2}, {8, 3, 2, 3}, {4, 4}, {12, 3}, {5, 2, 1, 2, 1, 2}}
}

// lineStyle gives each line a colour and a dash of its own: with more lines than colours, the dashes move on.
func lineStyle(i int) draw.LineStyle {
	p, d := paints(), dashes()
	return draw.LineStyle{Color: p[i%len(p)].rgb, Width: vg.Points(1.8), Dashes: d[(i+i/len(p))%len(d)]}
}

// percentilePlot draws the curves as an SVG element for the page: x is 1/(1-rank), y milliseconds, both
// logarithmic.
func percentilePlot(id, title, desc string, curves []curve) (string, error) {
	p := plot.New()
	p.BackgroundColor = nil
	setAxes(p, curves)
	ends := endLabels{}
	for i, c := range curves {
		line, err := plotter.NewLine(points(c))
		if err != nil {
			return "", fmt.Errorf("curve of %s: %w", c.Label, err)
		}
		line.LineStyle = lineStyle(i)
		p.Add(line)
		last := line.XYs[len(line.XYs)-1]
		ends = append(ends, endLabel{text: c.Label, x: last.X, y: last.Y, color: line.Color})
	}
	p.Add(ends)
	canvas := vgsvg.New(vg.Points(chartWidth), vg.Points(chartHeight))
	p.Draw(draw.Crop(draw.New(canvas), 0, -labelWidth, 4, -8))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	return dress(b.String(), id, title, desc), nil
}

func points(c curve) plotter.XYs {
	var xys plotter.XYs
	for _, p := range c.Points {
		xys = append(xys, plotter.XY{X: 1 / (1 - p.Rank), Y: max(float64(p.NS), 1) / 1e6})
	}
	return xys
}

func setAxes(p *plot.Plot, curves []curve) {
	low, high, far := math.Inf(1), 0.0, 10.0
	for _, c := range curves {
		for _, xy := range points(c) {
			low, high, far = min(low, xy.Y), max(high, xy.Y), max(far, xy.X)
		}
	}
	p.X.Min, p.X.Max = 2, far
	p.Y.Min, p.Y.Max = low/1.3, high*1.3
	// No axis labels: gonum places them by the middle of the values, which on a logarithmic axis is near its
	// end, and then makes room for what sticks out. The ticks bear their units instead.
	p.X.Tick.Marker = plot.TickerFunc(rankTicks)
	p.Y.Tick.Marker = plot.TickerFunc(millisecondTicks)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Scale = plot.LogScale{}
		axis.Color = gridColor()
		axis.Tick.Color = gridColor()
		axis.Padding = 0
		axis.Tick.Label.Font = sans(10)
	}
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: gridColor(), Width: vg.Points(0.4)}
	grid.Horizontal = grid.Vertical
	p.Add(grid)
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func rankTicks(low, high float64) []plot.Tick {
	ticks := []plot.Tick{{Value: 2, Label: "50 %"}}
	for x := 10.0; x <= high*1.0001; x *= 10 {
		ticks = append(ticks, plot.Tick{Value: x, Label: rankName(1 - 1/x)})
	}
	return ticks
}

// millisecondTicks labels 1, 2 and 5 of each decade; over more than three decades only 1.
func millisecondTicks(low, high float64) []plot.Tick {
	steps := []float64{1, 2, 5}
	if high/low > 1e3 {
		steps = steps[:1]
	}
	var ticks []plot.Tick
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, m := range steps {
			if v := m * power; v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: axisNumber(v) + " ms"})
			}
		}
	}
	return ticks
}

func axisNumber(v float64) string {
	if v >= 1 {
		return format.Count(int(math.Round(v)))
	}
	return fmt.Sprintf("%.*f", int(math.Ceil(-math.Log10(v)-1e-9)), v)
}

// endLabels writes the names of lines beside their ends, moved apart where they would overlap.
type endLabels []endLabel

type endLabel struct {
	text  string
	x, y  float64
	color color.Color
}

// Plot implements plot.Plotter.
func (l endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	type placed struct {
		endLabel
		from vg.Point
		at   vg.Length
	}
	var all []placed
	for _, e := range l {
		from := vg.Point{X: trX(e.x), Y: trY(e.y)}
		all = append(all, placed{e, from, from.Y})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return int(math.Copysign(1, float64(a.at-b.at))) })
	at := make([]vg.Length, len(all))
	for i := range all {
		at[i] = all[i].at
	}
	at = spread(at, c.Min.Y, c.Max.Y)
	style := draw.TextStyle{Font: sans(10), YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	for i, e := range all {
		x := c.Max.X + 16
		thin := draw.LineStyle{Color: e.color, Width: vg.Points(0.7), Dashes: []vg.Length{1, 2}}
		c.StrokeLine2(thin, e.from.X, e.from.Y, c.Max.X, e.from.Y)
		c.StrokeLine2(thin, c.Max.X, e.from.Y, x-3, at[i])
		style.Color = color.Black // words in the colour of the text, beside a sample of the line
		c.FillText(style, vg.Point{X: x, Y: at[i]}, e.text)
	}
}

// spread moves ascending positions apart by at least labelGap, keeping within the bounds if there is room.
func spread(at []vg.Length, low, high vg.Length) []vg.Length {
	for i := range at {
		at[i] = max(at[i], low+labelGap/2)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+labelGap)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = min(at[i], high-labelGap/2)
		if i < len(at)-1 {
			at[i] = min(at[i], at[i+1]-labelGap)
		}
	}
	return at
}

// dress makes a drawing of gonum fit for a page: it gives it a name, a description and a role, takes its
// fixed size and its fonts away, and puts the page's variables in place of its colours.
func dress(svg, id, title, desc string) string {
	_, body, _ := strings.Cut(svg, "<svg")
	_, body, _ = strings.Cut(body, ">")
	head := fmt.Sprintf(`<svg class="plot" role="img" aria-labelledby="%s-title %s-desc" viewBox="0 0 %d %d"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`,
		id, id, chartWidth, chartHeight, id, html.EscapeString(title), id, html.EscapeString(desc))
	colors := []string{"#808080", "var(--rule)"}
	for _, p := range paints() {
		colors = append(colors, fmt.Sprintf("#%02X%02X%02X", p.rgb.R, p.rgb.G, p.rgb.B), p.variable)
	}
	fonts := regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;`)
	styles := regexp.MustCompile(`style="[^"]*"`)
	return head + styles.ReplaceAllStringFunc(body, func(s string) string { // not in a lock's name
		return strings.NewReplacer(colors...).Replace(fonts.ReplaceAllString(s, ""))
	})
}
