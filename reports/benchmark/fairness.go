package benchmark

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// share is how the critical sections of a trial fell to its clients: from the one with the fewest to the one with the
// most, each as a multiple of an even share; the median over the trials, place by place.
func shares(trials []*Trial) []float64 {
	var sorted [][]float64
	for _, t := range trials {
		sum := 0
		for _, n := range t.Shares {
			sum += n
		}
		if sum == 0 {
			continue
		}
		var part []float64
		for _, n := range t.Shares {
			part = append(part, float64(n)*float64(len(t.Shares))/float64(sum))
		}
		slices.Sort(part)
		if len(sorted) == 0 || len(part) == len(sorted[0]) {
			sorted = append(sorted, part)
		}
	}
	if len(sorted) == 0 {
		return nil
	}
	all := make([]float64, len(sorted[0]))
	for i := range all {
		var values []float64
		for _, part := range sorted {
			values = append(values, part[i])
		}
		all[i] = median(values)
	}
	return all
}

func (v *view) fairnessCharts() []chart {
	var all []chart
	for _, p := range v.compared() {
		if !p.Contended() {
			continue
		}
		if c, ok := v.fairnessChart(p); ok {
			all = append(all, c)
		}
	}
	return all
}

// panel is one lock's small drawing among others of the same scale.
type panel struct {
	subject string
	shares  []float64
	words   string
}

func (v *view) fairnessChart(p Point) (chart, bool) {
	names, left := v.charted(p.ID)
	var panels []panel
	for _, name := range names {
		s := shares(v.trials[place{name, p.ID}])
		if len(s) < 2 {
			continue
		}
		words := fmt.Sprintf("%s to %s", trimZeros(significant(s[0])), times(s[len(s)-1]))
		panels = append(panels, panel{name, s, words})
	}
	if len(panels) == 0 {
		return chart{}, false
	}
	c := chart{Open: true, ID: slug("fairness", p.ID), Name: v.name(p), Note: left, Takeaway: v.fairnessTakeaway(p, panels)}
	c.Head, c.Rows = v.fairnessTable(p, panels)
	title := "Critical sections by client, " + describe(p)
	c.SVG = v.drawShares(panels).svg(c.ID, "shares", title, c.Takeaway)
	return c, true
}

const (
	panelsAbreast = 4
	panelWidth    = chartWidth / panelsAbreast
	panelHeight   = 122
)

func (v *view) drawShares(panels []panel) *canvas {
	high := 2.0
	for _, p := range panels {
		high = max(high, p.shares[len(p.shares)-1])
	}
	c := &canvas{width: chartWidth, height: float64((len(panels)+panelsAbreast-1)/panelsAbreast) * panelHeight}
	for i, p := range panels {
		left, top := float64(i%panelsAbreast)*panelWidth, float64(i/panelsAbreast)*panelHeight
		x := scale{high: float64(len(p.shares) - 1), from: left + 30, to: left + panelWidth - 16}
		y := scale{high: high * 1.04, from: top + panelHeight - 18, to: top + 24}
		s := v.styles[p.subject]
		c.marker(s, left+8, top+10)
		c.text("name", "start", left+18, top+14, short(p.subject, panelWidth-30, boldGlyph))
		for _, t := range []float64{0, 1, math.Floor(high)} {
			c.text("axis", "end", x.from-6, y.at(t)+4, tickText(t))
		}
		c.line("rule", x.from, y.at(0), x.to, y.at(0))
		c.line("ideal", x.from, y.at(1), x.to, y.at(1))
		var dots, ground []dot
		for j, v := range p.shares {
			dots = append(dots, dot{x.at(float64(j)), y.at(v)})
			ground = append(ground, dot{x.at(float64(j)), y.at(0)})
		}
		c.band(s, ground, dots)
		s.dash = "" // small: its marker and its name tell it
		c.track(s, dots)
		c.text("axis", "end", x.to, top+panelHeight-4, p.words)
	}
	return c
}

func (v *view) fairnessTable(p Point, panels []panel) (head []string, rows [][]string) {
	head = []string{"lock", "fewest × even", "most × even"}
	var shown []Metric
	for _, m := range Metrics() {
		if m.Group == "fairness" {
			shown, head = append(shown, m), append(head, heading(m))
		}
	}
	for _, q := range panels {
		name := q.subject
		row := []string{name, significant(q.shares[0]), significant(q.shares[len(q.shares)-1])}
		for _, m := range shown {
			text := none
			if e, ok := v.estimate(name, p.ID, m.Name); ok {
				text = metricText(m, e.Median)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (v *view) fairnessTakeaway(p Point, panels []panel) string {
	even, uneven := panels[0], panels[0]
	spread := func(p panel) float64 { return p.shares[0] / max(p.shares[len(p.shares)-1], 1e-9) }
	for _, p := range panels[1:] {
		if spread(p) > spread(even) {
			even = p
		}
		if spread(p) < spread(uneven) {
			uneven = p
		}
	}
	text := fmt.Sprintf("%s shares most evenly: the client with the fewest gets %s of what the one with the most does", even.subject, percent(spread(even)))
	if uneven.subject != even.subject {
		text += fmt.Sprintf("; with %s it gets %s", uneven.subject, percent(spread(uneven)))
	}
	if e, ok := v.estimate(uneven.subject, p.ID, "starved"); ok && e.Median > 0 {
		text += fmt.Sprintf(", and %s of %d clients get nothing", trimZeros(significant(e.Median)), p.Clients)
	}
	return text + "."
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 0, 64) + " %" }
