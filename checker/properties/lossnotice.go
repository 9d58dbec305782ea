package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// noticeTime plus a third of a lease is the time within which a holder must learn of a loss.
const noticeTime = 100 * time.Millisecond

// notices checks that a holder learns in time of the end of its lease, or of a refused renewal. A holder needs only its own
// clock to learn that its lease has ended. Therefore only a pause of the client excuses a late notice of that end. Any fault of
// the client, the servers or the network excuses a late notice of a refused renewal.
type notices struct {
	timed
	due     map[*projection.Hold]time.Duration // time at which a renewal was refused, by hold
	ready   map[*projection.Hold]time.Duration // earliest time at which the client of an ended hold could record a loss
	open    map[int32]bool                     // clients with an outstanding operation
	busy    map[int32]time.Duration            // return of the latest operation that took longer than noticeTime, by client
	judged  int
	longest time.Duration
}

func newNotices(m monitor) *notices {
	return &notices{timed: timed{monitor: m}, due: map[*projection.Hold]time.Duration{}, ready: map[*projection.Hold]time.Duration{},
		open: map[int32]bool{}, busy: map[int32]time.Duration{}}
}

// applies reports whether the property is applicable: the lock reports both losses and renewals.
func (x *notices) applies() bool { return x.Header.ReportsLoss && !x.Header.SilentRenewals }

func (x *notices) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	switch {
	case !x.applies():
		return
	case !op.Kind.SelfStarted():
		x.operation(ev)
		return
	case op.Kind != histories.Renew:
		return
	}
	h := k.Numbered(op)
	if h == nil {
		return
	}
	switch _, refused := x.due[h]; {
	case op.Outcome == histories.OK:
		delete(x.due, h)
	case op.Outcome == histories.Refused && !refused:
		x.due[h] = op.Return
	}
}

// operation handles the call or the return of an operation of a client. During the operation, the client cannot record a loss.
func (x *notices) operation(ev histories.Event) {
	op := ev.Op
	switch {
	case !ev.Return:
		x.open[op.Client] = true
	default:
		delete(x.open, op.Client)
		if op.Return-op.Call > noticeTime {
			x.busy[op.Client] = op.Return
		}
	}
}

// readyAt returns the earliest time at which a client could record a loss: after its latest pause and long operation.
func (x *notices) readyAt(client int32) time.Duration {
	if x.open[client] {
		return histories.Forever
	}
	return x.pauseEnd(client, x.busy[client])
}

func (x *notices) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	if c != projection.Ended && c != projection.Closed || !x.applies() {
		return
	}
	if _, ended := x.ready[h]; !ended {
		x.ready[h] = x.readyAt(h.Acquire.Client)
	}
	if c == projection.Closed {
		x.closed(k, h)
		delete(x.due, h)
		delete(x.ready, h)
	}
}

// closed judges a hold that has ended.
func (x *notices) closed(k *projection.Key, h *projection.Hold) {
	if !h.Promised || h.Until == histories.Forever {
		return
	}
	end := h.End
	if end == histories.Forever {
		end = x.Until
	}
	due := h.Confirmed // a paused process may record a renewal with too early a time, so use the latest possible end
	late := end - max(due, x.ready[h])
	if refused, ok := x.due[h]; ok {
		due, late = min(due, refused), max(late, end-x.faultEnd(h.Acquire.Client, refused))
	}
	if end <= due {
		return
	}
	x.judged++
	x.longest = max(x.longest, end-due)
	limit := h.Given/3 + x.Slack + noticeTime
	if !x.overrun(late - limit) {
		return
	}
	ops := []histories.Op{h.Acquire}
	if h.Release.Kind != 0 {
		ops = append(ops, h.Release)
	}
	x.show(k.Name, due, end, ops, "%s held %s from %s on; its lease ended, or its renewal was refused, at %s, and it was not told by %s; the limit is %s.",
		h, k.Name, h.Granted, due, end, limit)
}

func (x *notices) Finding() checker.Finding {
	if !x.applies() {
		return checker.Finding{Observed: checker.NotApplicable, Why: "the lock does not report losses, or not its renewals"}
	}
	return x.finding(fmt.Sprintf("%s beyond the end of the lease or a refused renewal, at most %s", checker.Count(x.judged, "hold"), checker.Milliseconds(x.longest)),
		reason{x.judged == 0, checker.NotApplicable, "no hold lasted beyond its lease or a refused renewal"})
}
