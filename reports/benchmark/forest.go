package benchmark

import (
	"fmt"
	"strings"
)

// forestCharts are, for each point, how far the locks stay behind the best.
func (v *view) forestCharts() []chart {
	var all []chart
	for _, p := range v.compared() {
		if c, ok := v.forestChart(p); ok {
			all = append(all, c)
		}
	}
	return all
}

func (v *view) forestChart(p Point) (chart, bool) {
	order := v.ranked(p.ID)
	if len(order) < 2 || order[1].ToBest.Ratio <= 0 {
		return chart{}, false
	}
	best, rest := order[0].Subject, order[1:]
	_, left := v.charted(p.ID)
	c := chart{ID: slug("forest", p.ID), Name: v.name(p), Note: left, Takeaway: forestTakeaway(best, rest)}
	if text := v.powerless(p); text != "" {
		c.Takeaway = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	c.Head = []string{"lock", "ratio", "95 % interval", "pairs", "p", "p, corrected", "differs"}
	for _, r := range rest {
		t := r.ToBest
		c.Rows = append(c.Rows, []string{r.Subject, ratioText(t), orNone(span(t.Low, t.High)), fmt.Sprint(t.Pairs), probability(t.P), probability(t.Holm), yesNo(t.Differs)})
	}
	c.SVG = drawForest(best, rest).svg(c.ID, "forest", "Goodput as a multiple of that of "+best+", "+describe(p), c.Takeaway)
	return c, true
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "~"
}

func ratioText(t Comparison) string {
	if t.Ratio <= 0 {
		return none
	}
	return times(t.Ratio)
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

func drawForest(best string, rest []Ranked) *canvas {
	values := []float64{1}
	for _, r := range rest {
		values = append(values, r.ToBest.Ratio)
		if r.ToBest.Low != nil && r.ToBest.High != nil {
			values = append(values, *r.ToBest.Low, *r.ToBest.High)
		}
	}
	low, high := limits(values)
	x := scale{low: low / 1.06, high: high * 1.06, from: forestLeft, to: forestRight, log: true}
	c := &canvas{width: chartWidth, height: forestTop + forestRow*float64(len(rest)) + 34}
	ground := c.height - 30
	for _, t := range ratioTicks(x) {
		c.line("grid", x.at(t), forestTop-6, x.at(t), ground)
		c.text("axis", "middle", x.at(t), ground+18, tickText(t)+"×")
	}
	c.line("unity", x.at(1), forestTop-10, x.at(1), ground)
	c.text("soft", "end", x.at(1), forestTop-15, "as much as "+short(best, 200, glyph))
	for i, r := range rest {
		forestLine(c, x, forestTop+forestRow*(float64(i)+.5), r)
	}
	return c
}

func forestLine(c *canvas, x scale, y float64, r Ranked) {
	t := r.ToBest
	c.text("name", "end", forestLeft-16, y+4, short(r.Subject, forestLeft-20, boldGlyph))
	if t.Ratio <= 0 {
		c.text("soft", "start", forestRight+20, y+4, "no ratio")
		return
	}
	if t.Low != nil && t.High != nil && *t.Low > 0 {
		c.line("interval", x.at(*t.Low), y, x.at(*t.High), y)
		c.line("interval", x.at(*t.Low), y-4, x.at(*t.Low), y+4)
		c.line("interval", x.at(*t.High), y-4, x.at(*t.High), y+4)
	}
	text := ratioText(t) + " " + orNone(span(t.Low, t.High))
	at := px(x.at(t.Ratio)) + " " + px(y)
	if t.Differs {
		fmt.Fprintf(&c.b, `<path class="differs" d="M%sm0 -7l7 7l-7 7l-7 -7z"/>`, at)
	} else {
		fmt.Fprintf(&c.b, `<path class="noise" d="M%sm-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z"/>`, at)
		text += " ~"
	}
	c.text("", "start", forestRight+20, y+4, text)
}

// ratioTicks are round ratios, as fine as the axis has room for.
func ratioTicks(x scale) []float64 {
	fine := []float64{.01, .02, .05, .1, .2, .3, .5, .7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100}
	if x.high/x.low < 2.5 {
		fine = linearTicks(x.low, x.high)
	}
	var all []float64
	for _, v := range fine {
		if v < x.low || v > x.high {
			continue
		}
		if n := len(all); n > 0 && x.at(v)-x.at(all[n-1]) < 40 {
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
		text += "; not told apart from it: " + joined(level)
	}
	return strings.TrimSpace(text) + "."
}
