package charts

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lanes is a timeline with one row for each client. Times are relative to the start of the run.
type Lanes struct {
	From, To   time.Duration
	Label      string   // label of the time axis
	Names      []string // names of the lanes from top to bottom
	Faults     []LaneSpan
	Holds      []LaneSpan
	Leases     []LaneSpan // leases, drawn below the holds
	Calls      []LaneSpan // operations, drawn as lines with their operation numbers
	Instants   []LaneSpan // operations, each drawn as a numbered circle at time From, with Label beside it
	Violations []Violation
	Crowded    bool // whether to omit an operation number if there is no room; if false, the number moves to the right
}

// LaneSpan is a time span in one row of a timeline. The part outside the drawing is cut off.
type LaneSpan struct {
	Lane     int // index of the row; AllLanes for a span across all rows
	From, To time.Duration
	Number   int // operation number from 1; 0 if the span has no number
	Label    string
	Title    string // text of the tooltip
	Faint    bool
}

// AllLanes is the value of LaneSpan.Lane for a fault that affects all clients.
const AllLanes = -1

// Violation is a time span during which a property was violated. The time span is drawn hatched.
type Violation struct {
	From, To time.Duration
	Label    string     // text above the timeline
	Short    string     // shorter text, drawn if Label does not fit; may be empty
	Parts    []LaneSpan // time spans to hatch; if empty, all lanes are hatched during the whole violation
}

// Vertical positions and sizes within one row of the timeline in pixels, measured from the top of the row.
const (
	laneHeight = 70
	holdTop    = 16 // top edge of a hold; the name of a fault is drawn above it
	holdHeight = 20
	callAt     = holdTop + holdHeight/2
	leaseAt    = holdTop + holdHeight + 4
	instantAt  = 52
	numberAt   = holdTop - 4 // bottom edge of an operation number, above the line that shows the operation
	markRadius = 8.5
	thinHatch  = 8 // hatched spans narrower than thinHatch have no outline
	labelsHigh = 26
)

// SVG returns the timeline as an SVG element.
func (l Lanes) SVG(h Head) template.HTML {
	l.To = max(l.To, l.From+1)
	c := &canvas{width: wide, height: vg.Length(len(l.Names)*laneHeight) + labelsHigh + 44}
	p := l.plot()
	p.Add(margin{top: labelsHigh}, &laneMarks{Lanes: l, hatch: "url(#" + h.ID + "-hatch)", taken: map[vg.Length]vg.Length{}})
	p.Draw(draw.Crop(draw.NewCanvas(c, wide, c.height), 2, -8, 2, -2))
	h.Class = "lanes"
	return h.wrap(c, fmt.Sprintf(`<defs><pattern id="%s-hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-ground" width="7" height="7"/><path class="hatch-line" d="M0 0V7"/></pattern></defs>`,
		template.HTMLEscapeString(h.ID)))
}

func (l Lanes) plot() *plot.Plot {
	ms := func(t time.Duration) float64 { return float64(t) / 1e6 }
	y := Axis{Low: -float64(max(len(l.Names), 1)), Ticks: []Tick{}}
	for i, name := range l.Names {
		y.Ticks = append(y.Ticks, Tick{-float64(i) - callAt/float64(laneHeight), short(name, 100, width)})
	}
	p := newPlot(Axis{Low: ms(l.From), High: ms(l.To), Label: l.Label}, y)
	p.Y.Tick.Label = words("name", text.XRight, text.YCenter)
	p.Y.Tick.Label.Font.Size = 15.5 // gonum's font at this size is as wide as the page's bold font at 13 pixels
	p.Add(grid(false))
	return p
}

type laneMarks struct {
	Lanes
	hatch string
	taken map[vg.Length]vg.Length // right end of the last text at each vertical position
	c     draw.Canvas
}

func (d *laneMarks) Plot(c draw.Canvas, _ *plot.Plot) {
	d.c = c
	for i := range len(d.Names) + 1 {
		c.StrokeLine2(stroke("lane"), 0, d.y(i, 0), c.Max.X, d.y(i, 0))
	}
	for _, s := range d.shown(d.Faults) {
		d.fault(s)
	}
	for _, s := range d.shown(d.Holds) {
		d.box("hold", s, holdTop, holdHeight, "")
	}
	for _, v := range d.Violations {
		d.violation(v)
	}
	for _, s := range d.shown(d.Leases) {
		d.level("lease", s, leaseAt)
	}
	for _, s := range d.shown(d.Calls) {
		d.call(s)
	}
	for _, s := range d.shown(d.Holds) {
		if from := d.x(s.From); width(s.Label)+12 < d.x(s.To)-from {
			write(d.c, "held", text.XLeft, from+8, d.y(s.Lane, callAt), s.Label)
		}
	}
	d.moments()
}

// shown returns the time spans that overlap the drawing and have a valid lane.
func (d *laneMarks) shown(all []LaneSpan) []LaneSpan {
	return slices.DeleteFunc(slices.Clone(all), func(s LaneSpan) bool {
		return s.From > d.To || max(s.From, s.To) < d.From || s.Lane >= len(d.Names)
	})
}

func (d *laneMarks) x(t time.Duration) vg.Length {
	t = min(max(t, d.From), d.To)
	return d.c.Min.X + (d.c.Max.X-d.c.Min.X)*vg.Length(t-d.From)/vg.Length(d.To-d.From)
}

func (d *laneMarks) y(lane int, below vg.Length) vg.Length {
	return d.c.Max.Y - vg.Length(max(lane, 0)*laneHeight) - below
}

// room returns a free position for a text on a line and reserves the position. The text may move to the right, unless
// Crowded is set. If there is no room, ok is false.
func (d *laneMarks) room(line, from, wide vg.Length) (at vg.Length, ok bool) {
	if free, taken := d.taken[line]; taken && from < free {
		if from = free; d.Crowded {
			return 0, false
		}
	}
	if from < 0 || from+wide > d.c.Max.X+8 {
		return from, false
	}
	d.taken[line] = from + wide
	return from, true
}

func (s LaneSpan) line(class Class) draw.LineStyle {
	return draw.LineStyle{Color: ink{Class: class, title: s.Title}, Width: 1}
}

func (d *laneMarks) box(class Class, s LaneSpan, below, high vg.Length, paint string) (from, to vg.Length) {
	from = d.x(s.From)
	to = max(from+2, d.x(s.To))
	top := d.y(s.Lane, below)
	fill(d.c, ink{Class: class, title: s.Title, fill: paint}, from, top-high, to, top)
	return from, to
}

// fault draws a coloured band over one lane or over all lanes. If there is no room, the name of the fault is omitted.
func (d *laneMarks) fault(s LaneSpan) {
	class, below, high, line := Class("fault"), vg.Length(1), vg.Length(laneHeight-2), vg.Length(8)
	if s.Lane == AllLanes {
		below, high = 0, vg.Length(len(d.Names)*laneHeight)
		line = high - 7
	}
	if s.Faint {
		class += " unseen"
	}
	from, to := d.box(class, s, below, high, "")
	edges(d.c, "fault-edge", from, to, d.y(s.Lane, below), d.y(s.Lane, below+high))
	long := boldWidth(s.Label)
	y := d.y(s.Lane, line)
	if free, taken := d.taken[y]; taken && free > from+4 && free+long > to {
		return
	}
	at := max(min(from+4, d.c.Max.X-long), d.taken[y])
	write(d.c, "fault-name", text.XLeft, at, y, s.Label)
	d.taken[y] = at + long + 8
}

func (d *laneMarks) call(s LaneSpan) {
	edges(d.c, "flight", d.x(s.From), d.x(s.To), d.y(s.Lane, callAt+6), d.y(s.Lane, callAt-6))
	d.level("flight", s, callAt)
	if number := strconv.Itoa(s.Number); s.Number > 0 {
		if at, ok := d.room(d.y(s.Lane, numberAt), d.x(s.From), width(number)+4); ok {
			write(d.c, "number", text.XLeft, at, d.y(s.Lane, numberAt), number)
		}
	}
}

func (d *laneMarks) level(class Class, s LaneSpan, below vg.Length) {
	y := d.y(s.Lane, below)
	d.c.StrokeLine2(s.line(class), d.x(s.From), y, d.x(s.To), y)
}

// violation draws the time spans of a violation as hatched areas, and writes its label above the lanes.
func (d *laneMarks) violation(v Violation) {
	if v.To < d.From || v.From > d.To {
		return
	}
	for _, label := range []string{v.Label, v.Short} {
		half := boldWidth(label)/2 + 4
		middle := min(max((d.x(v.From)+d.x(v.To))/2, d.c.Min.X+half), d.c.Max.X-half)
		if at, ok := d.room(d.y(0, -12), middle-half, 2*half); ok && label != "" {
			write(d.c, "overlap", text.XCenter, at+half, d.y(0, -12), label)
			break
		}
	}
	high := vg.Length(laneHeight)
	if len(v.Parts) == 0 {
		high *= vg.Length(len(d.Names))
		v.Parts = []LaneSpan{{Lane: AllLanes, From: v.From, To: v.To}}
	}
	for _, s := range d.shown(v.Parts) {
		if from, to := d.box("hatched", s, 0, high, d.hatch); to-from >= thinHatch {
			edges(d.c, "edge", from, to, d.y(s.Lane, 0), d.y(s.Lane, high))
		}
	}
}

// moments draws operations as numbered circles side by side, with labels if there is room.
func (d *laneMarks) moments() {
	type placed struct {
		LaneSpan
		at vg.Length
	}
	var all []placed
	for _, s := range d.shown(d.Instants) {
		x, y := d.x(s.From), d.y(s.Lane, instantAt)
		at, ok := d.room(y, x-markRadius-1, 2*markRadius+2)
		if at += markRadius + 1; !ok && d.Crowded {
			at, s.Number = x, 0
		}
		all = append(all, placed{s, min(at, d.c.Max.X)})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.at, b.at)) })
	free := vg.Length(0) // right end of the last label in the row
	for i, m := range all {
		if i == 0 || all[i-1].Lane != m.Lane {
			free = 0
		}
		d.circle(m.LaneSpan, m.at)
		next := d.c.Max.X
		if i+1 < len(all) && all[i+1].Lane == m.Lane {
			next = all[i+1].at - markRadius
		}
		const beside = markRadius + 5
		switch long := width(m.Label); {
		case m.at+beside+long < next:
			write(d.c, "word", text.XLeft, m.at+beside, d.y(m.Lane, instantAt), m.Label)
			free = m.at + beside + long
		case m.at-beside-long > free && next == d.c.Max.X:
			write(d.c, "word", text.XRight, m.at-beside, d.y(m.Lane, instantAt), m.Label)
			fallthrough
		default:
			free = m.at + markRadius
		}
	}
}

func (d *laneMarks) circle(s LaneSpan, x vg.Length) {
	y := d.y(s.Lane, instantAt)
	if s.Number == 0 {
		d.c.StrokeLine2(s.line("flight"), x, y-4, x, y+4)
		return
	}
	var p vg.Path
	p.Arc(vg.Point{X: x, Y: y}, markRadius, 0, 0)
	d.c.SetColor(ink{Class: "mark", title: s.Title})
	d.c.Fill(p)
	class := Class("in-mark")
	if s.Number >= 100 {
		class += " long"
	}
	write(d.c, class, text.XCenter, x, y+1, strconv.Itoa(s.Number))
}
