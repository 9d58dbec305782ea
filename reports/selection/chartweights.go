package selection

import (
	"fmt"

	"lockbench/reports/charts"
	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// winsChart shows over how many weightings each is ahead.
func (v *view) winsChart() (charts.Chart, bool) {
	d := v.Decision
	if len(d.Wins) == 0 || d.Weighings == 0 {
		return charts.Chart{}, false
	}
	c := charts.Chart{
		ID: "wins-chart", Name: "All weights at once", Takeaway: v.winsTakeaway(),
		Note: "Each weighting shares ten tenths among the criteria; all of them count alike, also those that nobody would choose.",
		Head: []string{"option", "weightings in which it is ahead", "of all"},
	}
	for _, w := range d.Wins {
		c.Rows = append(c.Rows, []string{w.Option, format.Count(w.Times), percent(w.Share)})
	}
	canvas, x := rowsCanvas(len(d.Wins), charts.Scale{High: 100})
	for i, w := range d.Wins {
		y := rowsTop + rowsHigh*(float64(i)+.5)
		style := v.styleOf(w.Option)
		canvas.Text("name", "end", rowsLeft-16, y+4, charts.Short(w.Option, rowsLeft-20, charts.BoldGlyph))
		canvas.Rect("bar "+style.Class(), rowsLeft, y-8, max(0, x.At(100*w.Share)-rowsLeft), 16)
		canvas.Marker(style, x.At(100*w.Share), y)
		canvas.Text("", "start", rowsRight+20, y+4, fmt.Sprintf("%s (%s of %s)", percent(w.Share), format.Count(w.Times), format.Count(d.Weighings)))
	}
	canvas.Text("axis", "middle", (rowsLeft+rowsRight)/2, canvas.Height-6, "of all weightings, in percent")
	c.SVG = canvas.SVG(c.ID, "wins", "The share of the weightings in which each option is ahead", c.Takeaway)
	return c, true
}

func (v *view) winsTakeaway() string {
	d := v.Decision
	first := d.Wins[0]
	text := fmt.Sprintf("%s is ahead in %s of the %s", first.Option, percent(first.Share), format.Plural(d.Weighings, "weighting"))
	if first.Share == 1 {
		return fmt.Sprintf("%s is ahead whatever the weights: in all %s.", first.Option, format.Plural(d.Weighings, "weighting"))
	}
	if len(d.Wins) > 1 {
		text += fmt.Sprintf(", %s in %s", d.Wins[1].Option, percent(d.Wins[1].Share))
	}
	return text + "."
}

// turnsChart shows the weights at which another would be ahead.
func (v *view) turnsChart() (charts.Chart, bool) {
	if len(v.Criteria) < 2 || len(v.Decision.Scores) < 2 {
		return charts.Chart{}, false
	}
	c := charts.Chart{
		ID: "turns-chart", Name: "One weight at a time", Takeaway: v.turnsTakeaway(),
		Note:   "For each criterion: a full diamond is its weight as it is, a circle the weight from which on another is ahead, if the others keep their proportions.",
		Worded: true, Head: []string{"criterion", "weight now", "what would change the leader"},
	}
	for _, k := range v.Criteria {
		turned := false
		for _, t := range v.Decision.Turns {
			if t.Of == k.Name {
				c.Rows, turned = append(c.Rows, []string{k.Title, score(k.Weight), t.Text}), true
			}
		}
		if !turned {
			c.Rows = append(c.Rows, []string{k.Title, score(k.Weight), "no weight of it, and no value"})
		}
	}
	c.SVG = v.drawTurns().SVG(c.ID, "turns", "The weight of each criterion, and the weights at which another option would be ahead", c.Takeaway)
	return c, true
}

func (v *view) turnsTakeaway() string {
	for _, t := range v.Decision.Turns {
		if t.Weight != nil {
			return t.Text
		}
	}
	return "No weight of any single criterion puts another ahead."
}

func (v *view) drawTurns() *charts.Canvas {
	c, x := rowsCanvas(len(v.Criteria), charts.Scale{High: 1})
	for i, k := range v.Criteria {
		y := rowsTop + rowsHigh*(float64(i)+.5)
		c.Text("name", "end", rowsLeft-16, y+4, charts.Short(k.Title, rowsLeft-20, charts.BoldGlyph))
		c.Line("track", rowsLeft, y, rowsRight, y)
		var turns []string
		for _, t := range v.Decision.Turns {
			if t.Of != k.Name || t.Weight == nil {
				continue
			}
			style := v.styleOf(t.To)
			style.Marker = 0
			c.Marker(style, x.At(*t.Weight), y)
			turns = append(turns, turnText(t, k.Weight))
		}
		c.Path("now", "M"+charts.Px(x.At(k.Weight))+" "+charts.Px(y)+"m0 -6l6 6l-6 6l-6 -6z")
		text := orElse(len(turns) > 0, format.Joined(turns), "no weight turns it")
		c.Text("soft", "start", rowsRight+20, y+4, charts.Short(text, charts.ChartWidth-rowsRight-20, charts.Glyph))
	}
	c.Text("axis", "middle", (rowsLeft+rowsRight)/2, c.Height-6, "weight of the criterion, of 1")
	return c
}

// turnText says which way a weight turns it.
func turnText(t decision.Turn, now float64) string {
	if *t.Weight < now {
		return fmt.Sprintf("below %s: %s", score(*t.Weight), t.To)
	}
	return fmt.Sprintf("above %s: %s", score(*t.Weight), t.To)
}
