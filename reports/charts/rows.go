package charts

import (
	"html/template"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Rows is a chart with a row for each lock: a dot with an interval, a bar, or several markers.
type Rows struct {
	Title  string // title above the axes, if the chart is one of several
	X      Axis
	Rows   []Row
	Rules  []Rule
	NoAxis bool // whether to omit ticks and grid, for example because each marker has a text
	Names  bool // whether to write the names to the left of the rows
	Texts  bool // whether to write the texts in a column at the right instead of beside the markers
}

// Row is a row of the chart, usually for one lock.
type Row struct {
	Name      string
	Style     Style
	Marks     []Mark
	Bar       bool     // whether to draw a bar from 0 to the first marker
	Low, High *float64 // ends of the interval; nil: no interval
	Text      string
}

// Mark is a symbol in a row of the chart. The field At holds the value at which the symbol is drawn.
type Mark struct {
	At    float64
	Style Style
	Class string // CSS class that replaces the colour of Style
}

// SVG returns the chart as an SVG element.
func (r Rows) SVG(h Head) template.HTML { return Grid{Columns: 1, Panels: []Panel{r}}.SVG(h) }

func (r Rows) height() vg.Length {
	high := vg.Length(rowHeight*len(r.Rows)) + 12
	for _, part := range []struct {
		shown bool
		high  vg.Length
	}{{r.Title != "", 24}, {!r.NoAxis, 26}, {r.X.Label != "", 18}, {r.ruleTexts(), 24}} {
		if part.shown {
			high += part.high
		}
	}
	return high
}

func (r Rows) ruleTexts() bool {
	return slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Text != "" })
}

func (r Rows) plot() *plot.Plot {
	var values []float64
	for _, row := range r.Rows {
		for _, m := range row.Marks {
			values = append(values, m.At)
		}
		if row.Low != nil && row.High != nil {
			values = append(values, *row.Low, *row.High)
		}
	}
	for _, rule := range r.Rules {
		values = append(values, rule.At)
	}
	r.X = r.X.fit(values)
	y := Axis{Low: -.5, High: float64(len(r.Rows)) - .5, Ticks: []Tick{}}
	if r.NoAxis {
		r.X.Ticks = []Tick{}
	}
	p := newPlot(r.X, y)
	p.X.Tick.Length = 0
	if r.NoAxis {
		p.X.LineStyle.Width = 0
	} else {
		p.Add(grid(false))
	}
	room := margin{left: 4}
	for _, row := range r.Rows {
		if r.Names {
			room.left = max(room.left, 18+min(nameMost, boldWidth(row.Name)))
		}
		if row.Text != "" {
			room.right = max(room.right, 14+min(textMost, width(row.Text)))
		}
	}
	p.Add(room, drawn(r.draw))
	caption(p, r.Title, "", nil)
	if r.ruleTexts() {
		p.Add(margin{top: 24})
	}
	return p
}

// draw draws all rows, with the first one at the top.
func (r Rows) draw(c draw.Canvas, x, y func(float64) vg.Length) {
	for _, rule := range r.Rules {
		at := x(rule.At)
		c.StrokeLine2(stroke("ruled"), at, c.Min.Y, at, c.Max.Y+6)
		write(c, "soft", text.XCenter, at, c.Max.Y+14, short(rule.Text, 300, width))
	}
	if r.NoAxis {
		c.StrokeLine2(stroke("rule"), c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	}
	for i, row := range r.Rows {
		at := y(float64(len(r.Rows) - 1 - i))
		if r.Names {
			write(c, "name", text.XRight, c.Min.X-12, at, short(row.Name, nameMost, boldWidth))
		}
		r.row(c, x, at, row)
	}
}

func (r Rows) row(c draw.Canvas, x func(float64) vg.Length, at vg.Length, row Row) {
	end := c.Min.X
	value := func(v float64) vg.Length { return x(r.X.clamp(v)) }
	if row.Bar && len(row.Marks) > 0 {
		end = value(row.Marks[0].At)
		fill(c, Class("bar "+row.Style.Class()), c.Min.X, at-8, end, at+8)
	}
	if row.Low != nil && row.High != nil {
		low, high := value(*row.Low), value(*row.High)
		class := Class("whisker " + row.Style.Class())
		c.StrokeLine2(stroke(class), low, at, high, at)
		edges(c, class, low, high, at-4, at+4)
		end = max(end, high)
	}
	for _, m := range row.Marks {
		g := m.Style.glyph()
		if m.Class != "" {
			g.Color = Class(m.Class)
		}
		g.Shape.DrawGlyph(&c, g, vg.Point{X: value(m.At), Y: at})
		end = max(end, value(m.At))
	}
	if r.Texts {
		end = c.Max.X
	}
	write(c, "", text.XLeft, end+10, at, short(row.Text, textMost, width))
}
