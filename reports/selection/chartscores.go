package selection

import (
	"fmt"

	"lockbench/reports/charts"
	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// The measures of charts that have a row for each option.
const (
	rowsLeft  = 200
	rowsRight = 610
	rowsHigh  = 30
	rowsTop   = 14
	rowsFoot  = 44
)

// scoresChart shows how close each comes to the best of everything, and how sure that is.
func (v *view) scoresChart() (charts.Chart, bool) {
	scores := v.Decision.Scores
	if len(scores) == 0 {
		return charts.Chart{}, false
	}
	c := charts.Chart{
		ID: "scores-chart", Name: "Weighted score", Takeaway: v.scoresTakeaway(),
		Note: "1 would be the best of all in every criterion. A bar through a mark is the 95 % interval over trials; those that share a rank cannot be told apart.",
		Head: []string{"option", "rank", "score", "95 % interval"},
	}
	for _, k := range v.Criteria {
		c.Head = append(c.Head, k.Title)
	}
	for _, s := range scores {
		row := []string{s.Option, fmt.Sprint(s.Rank), score(s.Score), orElse(scoreSpan(s) != "", scoreSpan(s), format.None)}
		for _, k := range v.Criteria {
			part, has := s.Parts[k.Name]
			row = append(row, orElse(has, score(part), format.None))
		}
		c.Rows = append(c.Rows, row)
	}
	c.SVG = v.drawScores().SVG(c.ID, "scores", "The weighted score of each option of the Pareto set", c.Takeaway)
	return c, true
}

// score is written as far as the interval has a meaning.
func score(s float64) string { return fmt.Sprintf("%.2f", s) }

func scoreSpan(s decision.Score) string {
	if s.Low == nil || s.High == nil {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", score(*s.Low), score(*s.High))
}

func (v *view) scoresTakeaway() string {
	var first []string
	for _, s := range v.Decision.Scores {
		if s.Rank == 1 {
			first = append(first, s.Option)
		}
	}
	scores := v.Decision.Scores
	switch {
	case len(scores) == 1:
		return scores[0].Option + " alone is left, so that there is nothing to weigh."
	case len(first) > 1:
		return fmt.Sprintf("%s share the first rank: their scores cannot be told apart.", format.Joined(first))
	case len(first) == 0:
		return "No order can be told."
	}
	next := scores[1]
	return fmt.Sprintf("%s comes closest to the best of everything, with %s; next is %s, with %s.", first[0], score(scores[0].Score), next.Option, score(next.Score))
}

func (v *view) drawScores() *charts.Canvas {
	scores := v.Decision.Scores
	c, x := rowsCanvas(len(scores), charts.Scale{High: 1})
	for i, s := range scores {
		y := rowsTop + rowsHigh*(float64(i)+.5)
		style := v.styleOf(s.Option)
		c.Text("name", "end", rowsLeft-16, y+4, charts.Short(s.Option, rowsLeft-20, charts.BoldGlyph))
		if s.Low != nil && s.High != nil {
			whisker(c, style, x.At(*s.Low), x.At(*s.High), y)
		}
		c.Marker(style, x.At(s.Score), y)
		c.Text("", "start", rowsRight+20, y+4, fmt.Sprintf("rank %d: %s %s", s.Rank, score(s.Score), scoreSpan(s)))
	}
	c.Text("axis", "middle", (rowsLeft+rowsRight)/2, c.Height-6, "weighted score; 1: the best in everything")
	return c
}

// rowsCanvas is a canvas with a row for each option and a grid upwards.
func rowsCanvas(rows int, x charts.Scale) (*charts.Canvas, charts.Scale) {
	x.From, x.To = rowsLeft, rowsRight
	c := &charts.Canvas{Width: charts.ChartWidth, Height: rowsTop + rowsHigh*float64(rows) + rowsFoot}
	ground := c.Height - rowsFoot
	for _, t := range x.Ticks() {
		c.Line("grid", x.At(t), rowsTop-4, x.At(t), ground)
		c.Text("axis", "middle", x.At(t), ground+16, charts.TickText(t))
	}
	c.Line("rule", x.From, ground, x.To, ground)
	return c, x
}

// whisker is an interval from left to right.
func whisker(c *charts.Canvas, s charts.Style, low, high, y float64) {
	class := "whisker " + s.Class()
	c.Line(class, low, y, high, y)
	c.Line(class, low, y-4, low, y+4)
	c.Line(class, high, y-4, high, y+4)
}
