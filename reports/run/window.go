package run

import (
	"fmt"
	"html/template"
	"strconv"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// Window is a part of a history, to be drawn as witnesses are: a lane per client, time from left to right.
type Window struct {
	ID          string // unique on its page
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
func DrawWindow(w Window) template.HTML {
	l := newSwimLanes(w.From, w.To, w.Clients)
	l.Label, l.Crowded = "ms into the run", true
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
	for _, o := range w.Overlaps {
		v := charts.Violation{From: o.From, To: o.To, Short: strconv.Itoa(o.Number),
			Label: fmt.Sprintf("both inside %d: %s ms", o.Number, format.Milliseconds(o.To-o.From))}
		for _, part := range o.Parts {
			v.Parts = append(v.Parts, charts.LaneSpan{Lane: l.laneOf(part.Client), From: part.From, To: part.To})
		}
		l.Violations = append(l.Violations, v)
	}
	return l.SVG(charts.Head{ID: w.ID, Title: w.Title, Desc: w.Desc})
}
