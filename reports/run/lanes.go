package run

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// swimLanes collects the operations of clients for a drawing with a lane for each client.
type swimLanes struct {
	charts.Lanes
	clients []int32
}

func newSwimLanes(from, to time.Duration, clients []int32) *swimLanes {
	l := &swimLanes{Lanes: charts.Lanes{From: from, To: to, Label: "ms into the run"}, clients: clients}
	for _, c := range clients {
		name := clientName(c)
		if c != histories.Harness {
			name = "client " + name
		}
		l.Names = append(l.Names, name)
	}
	return l
}

func clientName(c int32) string {
	if c == histories.Harness {
		return "harness"
	}
	return strconv.Itoa(int(c))
}

// laneOf returns the index of a client's lane. If the client has no lane, it returns an index at which nothing is
// drawn.
func (l *swimLanes) laneOf(client int32) int {
	if i := slices.Index(l.clients, client); i >= 0 {
		return i
	}
	return len(l.Names)
}

// drawExample returns a timeline of a violation, with the faults that overlap the violation.
func drawExample(id, property string, w *checker.Witness, faults []checker.Band) template.HTML {
	l := exampleLanes(property, w, faults)
	h := charts.Head{ID: id, Title: "Timeline of a violation of " + property}
	h.Desc = fmt.Sprintf("%s One lane for each of %s; bars are holds, thin lines are calls in flight, numbers refer to the table of operations.",
		w.Sentence, format.Plural(len(l.Names), "client"))
	return l.draw(h)
}

func (l *swimLanes) draw(h charts.Head) template.HTML {
	for _, f := range l.Faults {
		h.Desc += " A fault: " + f.Title + "."
	}
	return l.SVG(h)
}

// WriteLanes writes the timeline of a violation as a standalone SVG file. It draws only the faults that overlap the
// violation.
func WriteLanes(w io.Writer, property string, wit *checker.Witness, faults []checker.Band) error {
	if wit == nil || len(wit.Ops) == 0 {
		return errors.New("draw the violation: it has no operations")
	}
	_, err := io.WriteString(w, html.Drawing(drawExample("lanes", property, wit, faults)))
	return err
}

func exampleLanes(property string, w *checker.Witness, faults []checker.Band) *swimLanes {
	var clients []int32
	for _, op := range w.Ops {
		clients = append(clients, op.Client)
	}
	slices.Sort(clients)
	from, to := timeOf(w)
	l := newSwimLanes(from, to, slices.Compact(clients))
	l.addFaults(faults)
	for i := range w.Ops {
		op := &w.Ops[i]
		l.addOp(i+1, op)
		if op.Kind == histories.Acquire && op.Outcome == histories.OK {
			end, ended := holdEnd(op, w.Ops)
			l.addHold(Hold{Acquire: *op, End: end, Ended: ended})
		}
	}
	v := charts.Violation{From: w.From, To: w.To, Label: "violation"}
	if v.To < v.From || v.To > l.To {
		v.To = l.To
	}
	if property == "mutual-exclusion" || property == "lease-exclusion" {
		v.Label = "two clients held at once"
	}
	v.Short = checker.Milliseconds(v.To - v.From)
	v.Label += " for " + v.Short
	l.Violations = append(l.Violations, v)
	return l
}

// timeOf returns the time span to draw for a violation. It adds a margin at the end, so that calls and holds without an
// end are visible.
func timeOf(w *checker.Witness) (from, to time.Duration) {
	from, to = w.From, w.From
	ends := []time.Duration{w.To}
	for i, op := range w.Ops {
		if i == 0 || op.Call < from {
			from = op.Call
		}
		ends = append(ends, op.Call, op.Return)
	}
	for _, t := range ends {
		if t < histories.Forever/2 {
			to = max(to, t)
		}
	}
	return from, to + max(to-from, time.Microsecond)/40
}

// span returns a time span of a client. A span without an end reaches to the end of the drawing.
func (l *swimLanes) span(client int32, title string, from, to time.Duration, ended bool) charts.LaneSpan {
	s := charts.LaneSpan{Lane: l.laneOf(client), From: from, To: max(l.To, from), Title: title + " from " + l.since(from)}
	if ended {
		s.To, s.Title = to, s.Title+" to "+l.since(to)
	}
	return s
}

const mostFaults = 40 // maximum number of faults in one drawing

// addFaults adds the faults that overlap the time of the drawing. A fault of one client is drawn in the client's lane,
// any other fault in all lanes.
func (l *swimLanes) addFaults(faults []checker.Band) {
	for _, f := range faults {
		label := f.Name
		if !f.Effective {
			label += ", not verified"
		}
		s := l.span(f.Client, label+",", f.From, f.To, f.To != histories.StillOpen)
		s.Label, s.Faint = label, !f.Effective
		if f.Client == histories.Harness {
			s.Lane = charts.AllLanes
		}
		if s.From <= l.To && s.To >= l.From && s.Lane < len(l.Names) && len(l.Faults) < mostFaults {
			l.Faults = append(l.Faults, s)
		}
	}
}

// addOp adds an operation. An acquire or a release is drawn as a line from call to return, any other operation as a
// numbered circle.
func (l *swimLanes) addOp(number int, op *histories.Op) {
	title := fmt.Sprintf("%d: client %d, %s, %s,", number, op.Client, op.Kind, op.Outcome)
	if op.Open() {
		title += " never returned,"
	}
	s := l.span(op.Client, title, op.Call, op.Return, !op.Open())
	s.Number = number
	if op.Kind == histories.Acquire || op.Kind == histories.Release {
		l.Calls = append(l.Calls, s)
		return
	}
	if !op.Open() {
		s.From = op.Return
	}
	s.To, s.Label = s.From, op.Kind.String()
	if op.Fault != "" {
		s.Label += " " + op.Fault
	}
	if op.Kind == histories.Read || op.Kind == histories.Write {
		s.Label += " " + strconv.FormatInt(op.Value, 10)
	}
	l.Instants = append(l.Instants, s)
}

// addHold adds a hold to the lane of the client, with the lease below the hold.
func (l *swimLanes) addHold(h Hold) {
	op := &h.Acquire
	what, label := op.Key, "holds to the end"
	if h.Ended {
		label = "holds " + checker.Milliseconds(h.End-op.Return)
	}
	if h.Count > 1 {
		what, label = format.Plural(h.Count, "time"), format.Count(h.Count)+" ×"
	}
	s := l.span(op.Client, fmt.Sprintf("client %d holds %s", op.Client, what), op.Return, h.End, h.Ended)
	s.Label = label
	l.Holds = append(l.Holds, s)
	if h.Count <= 1 && op.Validity > 0 { // merged holds have no lease, because their leases differ
		until := op.Call + op.SentAfter + op.Validity
		l.Leases = append(l.Leases, charts.LaneSpan{Lane: s.Lane, From: s.From, To: max(s.From, until), Title: "its lease lasts until " + l.since(until)})
	}
}

// holdEnd returns the time at which the lock was released or lost, or the client ended. If the hold has no end, ended
// is false.
func holdEnd(acquire *histories.Op, ops []histories.Op) (end time.Duration, ended bool) {
	end = histories.Forever
	for _, op := range ops {
		over := op.EndsClient() || (op.Kind == histories.Release || op.Kind == histories.Lost) && op.Hold == acquire.Hold
		if over && op.Client == acquire.Client && op.Call >= acquire.Return {
			end, ended = min(end, op.Call), true
		}
	}
	return end, ended
}

func (l *swimLanes) since(t time.Duration) string { return checker.Milliseconds(t) }

// Window is a part of a history to draw, with a lane for each client.
type Window struct {
	ID          string // id, unique on the page
	Title, Desc string
	From, To    time.Duration
	Clients     []int32        // clients that have a row in the drawing, from top to bottom
	Ops         []histories.Op // operations, numbered from 1 as in the table beside the drawing
	Holds       []Hold
	Overlaps    []Overlap // overlaps to draw, numbered from 1
	Faults      []checker.Band
}

// Hold is a hold to draw: its acquire, and the time at which it ended.
type Hold struct {
	Acquire histories.Op
	End     time.Duration
	Ended   bool // whether the end of the hold is known
	Count   int  // number of holds that are drawn as one
}

// Overlap is a time span during which two or more clients held the same key.
type Overlap struct {
	From, To time.Duration
	Parts    []Part
}

// Part is the hold of one client during an Overlap.
type Part struct {
	Client   int32
	From, To time.Duration
}

// DrawWindow draws a part of a history as an SVG element. If there is no room for the number of an operation, the
// number is omitted.
func DrawWindow(w Window) template.HTML {
	l := newSwimLanes(w.From, w.To, w.Clients)
	l.Crowded = true
	l.addFaults(w.Faults)
	for _, h := range w.Holds {
		l.addHold(h)
	}
	for i := range w.Ops {
		l.addOp(i+1, &w.Ops[i])
	}
	for i := range l.Instants {
		l.Instants[i].Label = ""
	}
	for i, o := range w.Overlaps {
		v := charts.Violation{From: o.From, To: o.To, Short: strconv.Itoa(i + 1),
			Label: fmt.Sprintf("%d: two clients held at once for %s", i+1, checker.Milliseconds(o.To-o.From))}
		for _, part := range o.Parts {
			v.Parts = append(v.Parts, charts.LaneSpan{Lane: l.laneOf(part.Client), From: part.From, To: part.To})
		}
		l.Violations = append(l.Violations, v)
	}
	return l.draw(charts.Head{ID: w.ID, Title: w.Title, Desc: w.Desc})
}
