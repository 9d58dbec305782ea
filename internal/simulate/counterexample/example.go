// Package counterexample shows how a trial violates a property. New takes a Trial (a history with its fault plan and
// verdict) and returns an Example. An Example has an event list and a timeline, both as text.
package counterexample

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/internal/drive/inject"
	"lockbench/workloads"
)

// MostEvents is the largest number of events in an example. The event list has two more lines: the number of operations
// left out, and the verdict.
const MostEvents = 12

// Trial holds the settings, faults, operations and verdict of a judged trial.
type Trial struct {
	Deployment string
	Params     workloads.Params
	Strikes    []inject.Strike
	Ops        []histories.Op // operations in the order of call time
	Verdict    *checker.Verdict
}

// Example holds the events of a trial that are relevant to one property. The property may be violated or not.
type Example struct {
	Trial
	property string
	finding  checker.Finding
	witness  *checker.Witness // empty if the property is not violated
	waits    bool             // whether the property limits how long an acquire takes
	holds    []*hold
	of       map[holdKey]*hold
	inner    map[holdKey]bool // re-entrant holds, acquired by a client that already held the key
	faults   []*fault
	until    time.Duration // operations called after this time are ignored
	granted  time.Duration // time of the last grant in the violation; later holds are less relevant
	events   []*event
}

// event is one line of an event list. It shows the start or end of a fault, or operations of one client.
type event struct {
	at     time.Duration
	rank   int
	weight int // relevance; if there are too many events, the events with the lowest weight are removed first
	fault  *fault
	ops    []*histories.Op // one operation, or several failed acquires of the same client
	text   string
}

// The rank of an event determines its position among events at the same time. Lower ranks come first.
const (
	faultEnds = iota
	returns
	faultBegins
	calls
	commandStruck // start of a fault that was triggered by a command on the network
)

// The weight of an event is its relevance. If there are more than MostEvents events, those with the lowest weight are
// removed first.
const (
	ignored = iota // not shown as an event
	background
	faultEnd
	overlapping
	essential
)

// New returns an Example that shows how trial t violates the property.
func New(t Trial, property string) *Example {
	x := &Example{Trial: t, property: property, finding: t.Verdict.Finding(property), witness: &checker.Witness{}, until: t.Verdict.Until}
	x.waits = slices.Contains([]string{"progress", "recovery", "exact-try", "truthful-answer", "prompt-hand-off", "wait-honoured", "responsive", "abandoned-acquire"}, property)
	if x.finding.Witness != nil {
		x.witness = x.finding.Witness
		x.until = x.witness.To
		for _, op := range x.witness.Ops {
			if op.Kind != histories.Release || property == "owner-release" {
				x.until = max(x.until, op.Call)
			}
		}
	}
	x.holds, x.of, x.inner = holdsOf(t.Ops)
	for _, h := range x.holds {
		if x.ofWitness(h.acquire) {
			x.granted = max(x.granted, h.acquire.Return)
		}
	}
	x.faults = x.faultsOf()
	for _, f := range x.faults {
		x.addFault(f)
	}
	for i := range x.Ops {
		x.addOp(&x.Ops[i])
	}
	for len(x.events) > MostEvents {
		x.removeLightest()
	}
	slices.SortStableFunc(x.events, func(a, b *event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	return x
}

func (x *Example) addFault(f *fault) {
	if f.From > x.until {
		return
	}
	begin := &event{at: f.From, rank: faultBegins, weight: essential, fault: f, text: strings.TrimSpace("fault "+f.Name) + ": " + x.describe(f)}
	if f.When.On != nil {
		begin.rank = commandStruck
	}
	x.events = append(x.events, begin)
	if end := x.describeEnd(f); end != "" && f.hasEnd() && f.To != histories.StillOpen && f.To <= x.until {
		x.events = append(x.events, &event{at: f.To, rank: faultEnds, weight: faultEnd, fault: f, text: end})
	}
}

// addOp adds the events of an operation, unless the operation is irrelevant to the violation.
func (x *Example) addOp(op *histories.Op) {
	weight := x.weigh(op)
	if weight == ignored {
		return
	}
	add := func(at time.Duration, rank int, text string) {
		x.events = append(x.events, &event{at: at, rank: rank, weight: weight, ops: []*histories.Op{op}, text: text})
	}
	call := func(what string) { add(op.Call, calls, x.client(op)+what+op.Key+x.whileHeld(op, op.Call)) }
	late := op.Open() || op.Return > x.until && !x.inWitness(op)
	when, rank := op.Return, returns
	switch op.Kind {
	case histories.Acquire:
		if late {
			call(" tries to acquire ")
			return
		}
		if op.Outcome != histories.OK && x.triesAgain(op) {
			return
		}
	case histories.Release:
		if late || op.Return-op.Call <= long {
			when, rank = op.Call, calls
		} else {
			call(" starts to release ")
		}
	case histories.Read, histories.Write, histories.Append: // after a pause of the process, the recorded call may be later than the return
		when, rank = max(op.Call, op.Return), calls
	case histories.Lost, histories.Probe:
		when, rank = op.Call, calls
	}
	add(when, rank, x.line(op, when))
}

// triesAgain adds a failed acquire to the event of the client's previous failed acquire. It does so only if the client
// did nothing else in between. The result is true if the acquire was added.
func (x *Example) triesAgain(op *histories.Op) bool {
	for _, e := range slices.Backward(x.events) {
		if e.fault != nil || e.ops[0].Client != op.Client {
			continue
		}
		if last := e.ops[len(e.ops)-1]; last.Kind != histories.Acquire || last.Outcome != op.Outcome || last.Open() {
			return false
		}
		e.ops, e.at = append(e.ops, op), op.Return
		e.text = fmt.Sprintf("%s, %d times since %s", x.line(op, op.Return), len(e.ops), formatTime(e.ops[0].Call))
		return true
	}
	return false
}

// weigh returns the relevance of an operation: one of the constants from ignored to essential.
func (x *Example) weigh(op *histories.Op) int {
	switch {
	case op.Call > x.until || !x.key(op) || op.Kind == histories.Inject || op.Kind == histories.Heal:
		return ignored
	case x.inWitness(op):
		return essential
	case op.Client == histories.Harness, x.fresh(op) && !x.waits, x.inner[keyOf(op)] && x.property != "reentrancy":
		return ignored
	}
	late := op.Open() || op.Return > x.until
	switch op.Kind {
	case histories.Acquire:
		lost := op.Outcome == histories.Unknown && !op.Open() && (x.struck(op) || x.ofWitness(op))
		if x.waits || lost || op.Open() && x.clientEnded(op) {
			return overlapping
		}
		if late || op.Outcome != histories.OK {
			return ignored
		}
	case histories.Renew:
		if late || op.Outcome == histories.OK && x.property != "renewal" {
			return ignored
		}
	case histories.Read, histories.Write, histories.Append:
		if x.property == "resource-integrity" {
			return background
		}
		return ignored
	case histories.Probe:
		return ignored
	}
	h := x.of[keyOf(op)]
	switch {
	case h == nil:
		return ignored
	case x.ofWitness(op):
		return essential
	case (x.struck(op) || len(x.overlaps(h)) > 0) && (x.granted == 0 || op.Call <= x.granted):
		return overlapping
	case x.finding.Witness == nil || x.struck(op) || len(x.overlaps(h)) > 0:
		return background
	}
	return ignored
}

// removeLightest removes the oldest of the least relevant events. If this event begins or ends a hold, the other events
// of the hold are removed too, unless they are essential.
func (x *Example) removeLightest() {
	least := slices.MinFunc(x.events, func(a, b *event) int { return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.at, b.at)) })
	whole := least.fault == nil && least.ops[0].Hold != 0 && (least.ops[0].Kind == histories.Acquire || least.ops[0].Kind == histories.Release)
	x.events = slices.DeleteFunc(x.events, func(e *event) bool {
		return e == least || whole && e.fault == nil && e.weight < essential && keyOf(e.ops[0]) == keyOf(least.ops[0])
	})
}

// key reports whether an operation is on the key of the violation.
func (x *Example) key(op *histories.Op) bool { return x.witness.Key == "" || op.Key == x.witness.Key }

// inWitness reports whether an operation is part of the witness.
func (x *Example) inWitness(op *histories.Op) bool {
	return slices.ContainsFunc(x.witness.Ops, func(w histories.Op) bool {
		return w.Client == op.Client && w.Kind == op.Kind && w.Call == op.Call
	})
}

// ofWitness reports whether an operation belongs to a hold in the witness. It also returns true for an acquire with an
// unknown outcome by a client in the witness.
func (x *Example) ofWitness(op *histories.Op) bool {
	return slices.ContainsFunc(x.witness.Ops, func(w histories.Op) bool {
		return w.Client == op.Client && (w.Hold == op.Hold && op.Hold != 0 || op.Kind == histories.Acquire && op.Outcome == histories.Unknown)
	})
}

// fresh reports whether the operation's client is the additional client of the final check. This client acquires after
// all other clients have finished.
func (x *Example) fresh(op *histories.Op) bool { return int(op.Client) >= x.Params.Clients }

// Events returns a line for each event. A line has the time in ms since the start of the trial. A mark shows that the
// event is part of the violation. The last lines state the number of operations left out and the verdict.
func (x *Example) Events() []string {
	var lines []string
	shown := map[*histories.Op]bool{}
	for _, e := range x.events {
		mark := " "
		for _, op := range e.ops {
			shown[op] = true
			if x.inWitness(op) {
				mark = "*"
			}
		}
		lines = append(lines, fmt.Sprintf("%-9s %s %s", formatTime(e.at), mark, e.text))
	}
	before, after := 0, 0
	for i := range x.Ops {
		switch op := &x.Ops[i]; {
		case op.Kind == histories.Inject || op.Kind == histories.Heal || op.Kind == histories.Seen || shown[op]:
		case op.Call > x.until:
			after++
		default:
			before++
		}
	}
	var left []string
	if before > 0 {
		left = append(left, checker.Count(before, "unrelated operation"))
	}
	if after > 0 {
		left = append(left, checker.Count(after, "later operation"))
	}
	if left != nil {
		lines = append(lines, "Left out: "+joined(left)+".")
	}
	return append(lines, x.verdict())
}

func (x *Example) verdict() string {
	text := fmt.Sprintf("%s %s", x.property, map[checker.Observed]string{checker.Violated: "is violated", checker.Held: "holds"}[x.finding.Observed])
	switch {
	case x.finding.Witness != nil:
		return text + " by the events marked *: " + x.witness.Sentence
	case x.finding.Observed == checker.Held:
		return text + "."
	}
	return strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", x.property, x.finding.Observed, x.finding.Why), ": ") + "."
}
