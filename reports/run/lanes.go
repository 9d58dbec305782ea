package run

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

// lanes is a witness as a drawing: a lane per client, time from left to right. All lengths are in pixels of
// the drawing's own coordinates; templates/lanes.svg.tmpl makes SVG of it.
type lanes struct {
	ID            string
	Title, Desc   string
	Start         time.Duration // of the drawing, in the run
	Width, Height float64
	Left, Right   float64 // where time begins and ends
	Top, Bottom   float64 // of the lanes
	Lanes         []lane
	Bands         []band
	Flights       []flight
	Bars          []bar
	Leases        []flight
	Marks         []mark
	Ticks         []tick
	Hatches       []hatch
	Axis          string
}

type lane struct {
	Y, LabelY float64 // of its upper edge, and of its name's baseline
	Name      string
}

// flight is an operation between its call and its return, or what a lease promised.
type flight struct {
	X1, X2, Y float64
	Number    int     // in the table of operations; 0: there is no room for it
	NumberX   float64 // an acquire's stands before it, a release's after it: there they hide no bar
	NumberY   float64
	Anchor    string
	Title     string
}

type bar struct {
	X, Y, W, H float64
	Label      string // where it fits
	Title      string
}

type mark struct {
	X, Y   float64
	Number int    // 0: there is no room for it
	Word   string // what it is, where there is room: to the right of the mark, else to its left
	WordX  float64
	Anchor string // of the word
	Title  string
}

type tick struct {
	X     float64
	Label string
}

type hatch struct {
	X, Y, W, H     float64
	LabelX, LabelY float64
	Label          string
	Thin           bool // its edges would hide it
}

// The measures of a drawing.
const (
	laneWidth  = 1000
	laneLeft   = 92  // beside the names of the lanes
	laneTop    = 34  // below the label of the overlap
	laneHeight = 70  // of one lane
	barHeight  = 20  // of a hold
	barAt      = 16  // below the lane's upper edge: a fault's name stands above
	marksAt    = 52  // below the lane's upper edge
	markGap    = 19  // at least between two marks
	wordAt     = 13  // from a mark's centre to its word
	glyphWidth = 6.6 // of a letter in a label, about
)

// drawer maps time to place.
type drawer struct {
	lanes
	from, to time.Duration
	zero     time.Duration // what times are told from
	lane     map[int32]int
	lastMark map[int32]int // of a client, in Marks
}

// drawLanes draws a witness of a property.
func drawLanes(id, property string, w *checker.Witness, faults []checker.Band) lanes {
	d := drawer{lanes: lanes{ID: id, Width: laneWidth, Left: laneLeft, Right: laneWidth - 14, Top: laneTop}}
	d.span(w)
	d.nameLanes(clientsOf(w.Ops))
	d.bands(faults)
	for i := range w.Ops {
		d.op(i+1, &w.Ops[i], w.Ops)
	}
	d.hatch(property, w)
	d.ticks()
	d.Title = fmt.Sprintf("Swim lanes of a violation of %s", property)
	d.Desc = fmt.Sprintf("%s One lane for each of %s; bars are holds, thin lines are calls in flight, numbers refer to the table of operations.",
		w.Story, plural(len(d.Lanes), "client"))
	for _, b := range d.Bands {
		d.Desc += " A fault: " + b.Title + "."
	}
	return d.lanes
}

// span is the time that the operations take; what is still open or is held for ever ends with the drawing.
func (d *drawer) span(w *checker.Witness) {
	d.from, d.to = w.From, w.From
	if len(w.Ops) > 0 {
		d.from = w.Ops[0].Call
	}
	stretch := func(t time.Duration) {
		if t < histories.Forever/2 {
			d.to = max(d.to, t)
		}
	}
	for _, op := range w.Ops {
		d.from = min(d.from, op.Call)
		stretch(op.Call)
		stretch(op.Return)
	}
	stretch(w.To)
	d.to += max(d.to-d.from, time.Microsecond) / 40 // room for what has no end
	d.Start, d.zero = d.from, d.from
}

func (d *drawer) x(t time.Duration) float64 {
	t = min(max(t, d.from), d.to)
	return d.Left + (d.Right-d.Left)*float64(t-d.from)/float64(d.to-d.from)
}

func clientsOf(ops []histories.Op) []int32 {
	var clients []int32
	for _, op := range ops {
		if !slices.Contains(clients, op.Client) {
			clients = append(clients, op.Client)
		}
	}
	slices.Sort(clients)
	return clients
}

func (d *drawer) nameLanes(clients []int32) {
	d.lane = map[int32]int{}
	d.lastMark = map[int32]int{}
	for i, c := range clients {
		name := clientName(c)
		if c != histories.Harness {
			name = "client " + name
		}
		y := float64(laneTop + i*laneHeight)
		d.lane[c] = i
		d.Lanes = append(d.Lanes, lane{Y: y, LabelY: y + barAt + barHeight/2 + 5, Name: name})
	}
	d.Bottom = float64(laneTop + len(clients)*laneHeight)
	d.Height = d.Bottom + 44
}

func clientName(c int32) string {
	if c == histories.Harness {
		return "harness"
	}
	return strconv.Itoa(int(c))
}

func (d *drawer) y(client int32) float64 { return float64(laneTop + d.lane[client]*laneHeight) }

// op draws one operation: acquires and releases as calls in flight, what is granted as a bar, all else as a
// numbered mark.
func (d *drawer) op(number int, op *histories.Op, ops []histories.Op) {
	if op.Kind != histories.Acquire && op.Kind != histories.Release {
		d.mark(number, op)
		return
	}
	d.flight(number, op)
	if op.Kind == histories.Acquire && op.Outcome == histories.OK {
		end, ended := holdEnd(op, ops)
		d.bar(op, end, ended)
	}
}

// flight draws the time between a call and its return.
func (d *drawer) flight(number int, op *histories.Op) {
	end := op.Return
	if op.Open() {
		end = d.to
	}
	middle := d.y(op.Client) + barAt + barHeight/2
	f := flight{X1: d.x(op.Call), X2: d.x(end), Y: middle, Number: number, Title: d.told(number, op)}
	f.NumberX, f.NumberY, f.Anchor = f.X1-4, middle+4, "end"
	if op.Kind == histories.Release {
		f.NumberX, f.Anchor = f.X2+4, "start"
	}
	d.Flights = append(d.Flights, f)
}

func (d *drawer) mark(number int, op *histories.Op) {
	at := op.Return
	if op.Open() {
		at = op.Call
	}
	x := d.x(at)
	word := op.Kind.String()
	if op.Fault != "" {
		word += " " + op.Fault
	}
	if op.Kind == histories.Read || op.Kind == histories.Write {
		word += " " + strconv.FormatInt(op.Value, 10)
	}
	if i, ok := d.lastMark[op.Client]; ok {
		last := &d.Marks[i]
		x = max(x, last.X+markGap) // side by side: their order counts, and the table has the times
		if x < last.X+markGap+float64(len(last.Word))*glyphWidth+6 {
			last.Word = ""
		}
	}
	m := mark{X: x, Y: d.y(op.Client) + marksAt, Number: number, Word: word, WordX: x + wordAt, Anchor: "start", Title: d.told(number, op)}
	if x+markGap+float64(len(word))*glyphWidth > d.Width {
		m.WordX, m.Anchor = x-wordAt, "end"
		if i, ok := d.lastMark[op.Client]; ok && d.Marks[i].X+2*markGap+float64(len(d.Marks[i].Word)+len(word))*glyphWidth > x {
			m.Word = ""
		}
	}
	d.lastMark[op.Client] = len(d.Marks)
	d.Marks = append(d.Marks, m)
}

// bar draws a hold from its grant to its release, and beneath it what the lease promised.
func (d *drawer) bar(op *histories.Op, end time.Duration, ended bool) {
	if !ended {
		end = d.to
	}
	b := bar{X: d.x(op.Return), Y: d.y(op.Client) + barAt, H: barHeight}
	b.W = max(2, d.x(end)-b.X)
	b.Title = fmt.Sprintf("client %d holds %s from %s", op.Client, op.Key, d.since(op.Return))
	label := "holds to the end"
	if ended {
		b.Title += fmt.Sprintf(" to %s", d.since(end))
		label = "holds " + duration(int64(end-op.Return))
	}
	if float64(len(label))*glyphWidth+12 < b.W {
		b.Label = label
	}
	d.Bars = append(d.Bars, b)
	if op.Validity > 0 {
		until := op.Call + op.SentAfter + op.Validity
		d.Leases = append(d.Leases, flight{
			X1: b.X, X2: max(b.X, d.x(until)), Y: b.Y + barHeight + 4,
			Title: fmt.Sprintf("the lock promised it until %s", d.since(until)),
		})
	}
}

// holdEnd is when its client gave a hold up, was told that it is gone, or was gone itself.
func holdEnd(acquire *histories.Op, ops []histories.Op) (time.Duration, bool) {
	end, ended := histories.Forever, false
	for _, op := range ops {
		over := op.Kind == histories.Release || op.Kind == histories.Lost
		if op.EndsClient() && op.Client == acquire.Client && op.Call >= acquire.Return {
			end, ended = min(end, op.Call), true
		}
		if over && op.Client == acquire.Client && op.Hold == acquire.Hold && op.Call >= acquire.Return {
			end, ended = min(end, op.Call), true
		}
	}
	return end, ended
}

// hatch marks the violation across the lanes.
func (d *drawer) hatch(property string, w *checker.Witness) {
	from, to := w.From, w.To
	if to < from || to > d.to {
		to = d.to
	}
	h := hatch{X: d.x(from), Y: laneTop, H: d.Bottom - laneTop, LabelY: laneTop - 10}
	h.W = max(3, d.x(to)-h.X)
	what := "violation"
	if property == "mutual-exclusion" || property == "lease-exclusion" {
		what = "both inside"
	}
	h.Label = fmt.Sprintf("%s: %s ms", what, milliseconds(int64(to-from)))
	half := float64(len(h.Label)) * glyphWidth / 2
	h.LabelX = min(max(h.X+h.W/2, d.Left+half), d.Right-half)
	d.Hatches = append(d.Hatches, h)
}

// ticks labels the axis in milliseconds.
func (d *drawer) ticks() {
	first, last := float64(d.from-d.zero)/1e6, float64(d.to-d.zero)/1e6
	step := niceStep((last - first) / 8)
	for v := math.Ceil(first/step) * step; v <= last; v += step {
		d.Ticks = append(d.Ticks, tick{
			X:     d.x(d.zero + time.Duration(v*1e6)),
			Label: strconv.FormatFloat(v, 'f', max(0, int(math.Ceil(-math.Log10(step)))), 64),
		})
	}
	d.Axis = fmt.Sprintf("ms from %s into the run", duration(int64(d.zero)))
}

// niceStep is the least of 1, 2, 5, 10, 20, ... that is not less than v.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

func (d *drawer) since(t time.Duration) string {
	return milliseconds(int64(t-d.zero)) + " ms"
}

func (d *drawer) told(number int, op *histories.Op) string {
	s := fmt.Sprintf("%d: client %d, %s, %s", number, op.Client, op.Kind, op.Outcome)
	if op.Open() {
		return s + fmt.Sprintf(", from %s, never returned", d.since(op.Call))
	}
	return s + fmt.Sprintf(", %s to %s", d.since(op.Call), d.since(op.Return))
}
