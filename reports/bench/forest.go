package bench

import (
	"fmt"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// forestCharts are, for each point, how far the locks stay behind the best.
func (v *view) forestCharts() []charts.Chart {
	var all []charts.Chart
	for _, p := range v.compared() {
		if c, ok := v.forestChart(p); ok {
			all = append(all, c)
		}
	}
	return all
}

func (v *view) forestChart(p Point) (charts.Chart, bool) {
	order := v.ranked(p.ID)
	if len(order) < 2 || order[1].ToBest.Ratio <= 0 {
		return charts.Chart{}, false
	}
	best, rest := order[0].Subject, order[1:]
	_, left := v.charted(p.ID)
	c := charts.Chart{ID: charts.Slug("forest", p.ID), Name: v.name(p), Note: left, Takeaway: forestTakeaway(best, rest)}
	if text := v.powerless(p); text != "" {
		c.Takeaway = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	c.Head = []string{"lock", "ratio", "95 % interval", "pairs", "p", "p, corrected", "differs"}
	for _, r := range rest {
		t := r.ToBest
		c.Rows = append(c.Rows, []string{r.Subject, ratioText(t), orNone(format.Span(t.Low, t.High)), fmt.Sprint(t.Pairs), probability(t.P), probability(t.Holm), yesNo(t.Differs)})
	}
	c.SVG = drawForest(best, rest).SVG(c.ID, "forest", "Goodput as a multiple of that of "+best+", "+describe(p), c.Takeaway)
	return c, true
}

func orNone(s string) string {
	if s == "" {
		return format.None
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "~"
}

func ratioText(t stats.Comparison) string {
	if t.Ratio <= 0 {
		return format.None
	}
	return format.Times(t.Ratio)
}

func probability(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

const (
	forestLeft  = 190
	forestRight = 620
	forestRow   = 26
	forestTop   = 30
)

func drawForest(best string, rest []Ranked) *charts.Canvas {
	values := []float64{1}
	for _, r := range rest {
		values = append(values, r.ToBest.Ratio)
		if r.ToBest.Low != nil && r.ToBest.High != nil {
			values = append(values, *r.ToBest.Low, *r.ToBest.High)
		}
	}
	low, high := charts.Limits(values)
	x := charts.Scale{Low: low / 1.06, High: high * 1.06, From: forestLeft, To: forestRight, Log: true}
	c := &charts.Canvas{Width: charts.ChartWidth, Height: forestTop + forestRow*float64(len(rest)) + 34}
	ground := c.Height - 30
	for _, t := range ratioTicks(x) {
		c.Line("grid", x.At(t), forestTop-6, x.At(t), ground)
		c.Text("axis", "middle", x.At(t), ground+18, charts.TickText(t)+"×")
	}
	c.Line("unity", x.At(1), forestTop-10, x.At(1), ground)
	c.Text("soft", "end", x.At(1), forestTop-15, "as much as "+charts.Short(best, 200, charts.Glyph))
	for i, r := range rest {
		forestLine(c, x, forestTop+forestRow*(float64(i)+.5), r)
	}
	return c
}

func forestLine(c *charts.Canvas, x charts.Scale, y float64, r Ranked) {
	t := r.ToBest
	c.Text("name", "end", forestLeft-16, y+4, charts.Short(r.Subject, forestLeft-20, charts.BoldGlyph))
	if t.Ratio <= 0 {
		c.Text("soft", "start", forestRight+20, y+4, "no ratio")
		return
	}
	if t.Low != nil && t.High != nil && *t.Low > 0 {
		c.Line("interval", x.At(*t.Low), y, x.At(*t.High), y)
		c.Line("interval", x.At(*t.Low), y-4, x.At(*t.Low), y+4)
		c.Line("interval", x.At(*t.High), y-4, x.At(*t.High), y+4)
	}
	text := ratioText(t) + " " + orNone(format.Span(t.Low, t.High))
	at := charts.Px(x.At(t.Ratio)) + " " + charts.Px(y)
	if t.Differs {
		c.Path("differs", "M"+at+"m0 -7l7 7l-7 7l-7 -7z")
	} else {
		c.Path("noise", "M"+at+"m-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z")
		text += " ~"
	}
	c.Text("", "start", forestRight+20, y+4, text)
}

// ratioTicks are round ratios, as fine as the axis has room for.
func ratioTicks(x charts.Scale) []float64 {
	fine := []float64{.01, .02, .05, .1, .2, .3, .5, .7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100}
	if x.High/x.Low < 2.5 {
		fine = charts.LinearTicks(x.Low, x.High)
	}
	var all []float64
	for _, v := range fine {
		if v < x.Low || v > x.High {
			continue
		}
		if n := len(all); n > 0 && x.At(v)-x.At(all[n-1]) < 40 {
			continue
		}
		all = append(all, v)
	}
	return all
}

func forestTakeaway(best string, rest []Ranked) string {
	var level, behind []string
	for _, r := range rest {
		if r.ToBest.Differs {
			behind = append(behind, r.Subject)
		} else {
			level = append(level, r.Subject)
		}
	}
	if len(behind) == 0 {
		return fmt.Sprintf("None can be told apart from %s: the order may be noise.", best)
	}
	next := rest[len(level)].ToBest
	for _, r := range rest {
		if r.ToBest.Differs {
			next = r.ToBest
			break
		}
	}
	text := fmt.Sprintf("Of those that differ from %s, %s comes nearest, with %s of its goodput", best, next.A, ratioText(next))
	if len(level) > 0 {
		text += "; not told apart from it: " + format.Joined(level)
	}
	return strings.TrimSpace(text) + "."
}
