package run

import (
	"bytes"
	"fmt"
	"html/template"
	"strconv"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
)

// Window is a part of a history, to be drawn as witnesses are: a lane per client, time from left to right.
type Window struct {
	ID          string // tells drawings of one page apart
	Title, Desc string
	From, To    time.Duration
	Clients     []int32        // the lanes, in order; what others did is not drawn
	Ops         []histories.Op // numbered from 1, as in the table beside the drawing
	Holds       []Hold
	Overlaps    []Overlap
	Faults      []checker.Band
}

// Hold is what a client was granted, and when that was over.
type Hold struct {
	Acquire histories.Op
	End     time.Duration
	Ended   bool // else it is not known to have ended
	Count   int  // more than 1: so many, too close to be told apart, from the first's grant to the last's end
}

// Overlap is a time in which two or more held one key.
type Overlap struct {
	Number   int
	From, To time.Duration
	Parts    []Part
}

// Part is one client's part of an overlap.
type Part struct {
	Client   int32
	From, To time.Duration
}

// DrawWindow draws a part of a history. What does not fit beside its neighbours is drawn without its number.
func DrawWindow(w Window) (template.HTML, error) {
	t, err := laneTemplate()
	if err != nil {
		return "", err
	}
	d := windowDrawer{drawer: drawer{from: w.From, to: max(w.To, w.From+1), lanes: lanes{ID: w.ID, Title: w.Title, Desc: w.Desc,
		Width: laneWidth, Left: laneLeft, Right: laneWidth - 14, Top: laneTop, Start: w.From}}, taken: map[float64]float64{}}
	d.nameLanes(w.Clients)
	d.bands(w.Faults)
	for i := range w.Holds {
		if _, drawn := d.lane[w.Holds[i].Acquire.Client]; drawn {
			d.hold(&w.Holds[i])
		}
	}
	for i := range w.Ops {
		if _, drawn := d.lane[w.Ops[i].Client]; drawn {
			d.op(i+1, &w.Ops[i])
		}
	}
	d.overlaps(w.Overlaps)
	d.ticks()
	d.Axis = "ms into the run"
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, "lanes", d.lanes)
	return template.HTML(b.String()), err
}

// windowDrawer draws what has more in it than a witness has: numbers are left out where there is no room for them.
type windowDrawer struct {
	drawer
	taken map[float64]float64 // by height: up to where the last number reaches
}

func (d *windowDrawer) hold(h *Hold) {
	if h.Count < 2 {
		d.bar(&h.Acquire, h.End, h.Ended)
		return
	}
	many := h.Acquire
	many.Validity = 0 // each had a promise of its own
	d.bar(&many, h.End, h.Ended)
	b := &d.Bars[len(d.Bars)-1]
	b.Title = fmt.Sprintf("client %d holds %s from %s on", many.Client, plural(h.Count, "time"), d.since(many.Return))
	if b.Label = format.Count(h.Count) + " ×"; float64(len(b.Label))*glyphWidth+12 > b.W {
		b.Label = ""
	}
}

func (d *windowDrawer) op(number int, op *histories.Op) {
	if op.Kind == histories.Acquire || op.Kind == histories.Release {
		if op.Call > d.to || !op.Open() && op.Return < d.from {
			return // it is in the table for the hold that it began
		}
		d.flight(number, op)
		f := &d.Flights[len(d.Flights)-1]
		// Calls follow one another closely: above the line a number hides none of them.
		f.NumberX, f.NumberY, f.Anchor = f.X1, f.Y-numberAbove, "start"
		if !d.room(f.NumberY, f.X1, f.X1+float64(len(strconv.Itoa(number)))*glyphWidth+4) {
			f.Number = 0
		}
		return
	}
	at := op.Return
	if op.Open() {
		at = op.Call
	}
	m := mark{X: d.x(at), Y: d.y(op.Client) + marksAt, Number: number, Title: d.told(number, op)}
	if half := markGap/2 + max(0, float64(len(strconv.Itoa(number)))-2)*2; !d.room(m.Y, m.X-half, m.X+half) {
		m.Number = 0
	}
	d.Marks = append(d.Marks, m)
}

// numberAbove is how far above its call a number stands, clear of a bar.
const numberAbove = barHeight/2 + 3

// thinHatch is the width from which on a hatched time has edges.
const thinHatch = 8

// room takes a place on a line, where nobody has it.
func (d *windowDrawer) room(line, from, to float64) bool {
	if last, taken := d.taken[line]; taken && from < last || from < 0 || to > d.Width {
		return false
	}
	d.taken[line] = to
	return true
}

// overlaps hatches each time in which two held one key, in the lanes of those who did, and numbers it where there is room.
func (d *windowDrawer) overlaps(overlaps []Overlap) {
	last := map[int32]int{} // of a client, in Hatches: what lies close together is one
	for _, o := range overlaps {
		whole := hatch{X: d.x(o.From), LabelY: laneTop - 10}
		whole.W = d.x(o.To) - whole.X
		if !d.label(&whole, fmt.Sprintf("both inside %d: %s ms", o.Number, milliseconds(int64(o.To-o.From)))) {
			d.label(&whole, strconv.Itoa(o.Number))
		}
		for _, part := range o.Parts {
			if _, drawn := d.lane[part.Client]; !drawn || part.To < d.from || part.From > d.to {
				continue
			}
			h := hatch{X: d.x(part.From), Y: d.y(part.Client), H: laneHeight, LabelX: whole.LabelX, LabelY: whole.LabelY, Label: whole.Label}
			h.W = max(2, d.x(part.To)-h.X)
			h.Thin = h.W < thinHatch
			whole.Label = "" // once is enough
			if i, ok := last[part.Client]; ok && h.Label == "" && h.Thin && h.X <= d.Hatches[i].X+d.Hatches[i].W+1 && h.X >= d.Hatches[i].X {
				d.Hatches[i].W = max(d.Hatches[i].W, h.X+h.W-d.Hatches[i].X)
				continue
			}
			last[part.Client] = len(d.Hatches)
			d.Hatches = append(d.Hatches, h)
		}
	}
}

func (d *windowDrawer) label(h *hatch, label string) bool {
	half := float64(len(label))*(glyphWidth+.8)/2 + 8 // it is bold
	x := min(max(h.X+h.W/2, d.Left+half), d.Right-half)
	if !d.room(h.LabelY, x-half, x+half) {
		return false
	}
	h.Label, h.LabelX = label, x
	return true
}
