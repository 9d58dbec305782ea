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
//
// The end of a hold that does not expire, or whose renewals are not recorded, is unknown. If another client is granted the key,
// the hold has ended, and the holder must learn of that within a lease more.
type notices struct {
	timed
	due     map[*projection.Hold]time.Duration // time at which a renewal was refused, by hold
	taken   map[*projection.Hold]histories.Op  // first grant to another client, by hold
	ready   map[*projection.Hold]time.Duration // earliest time at which the client of an ended hold could record a loss
	open    map[int32]bool                     // clients with an outstanding operation
	busy    map[int32]time.Duration            // return of the latest operation that took longer than noticeTime, by client
	judged  int
	longest time.Duration
}

func newNotices(m monitor) *notices {
	return &notices{timed: timed{monitor: m}, due: map[*projection.Hold]time.Duration{}, taken: map[*projection.Hold]histories.Op{},
		ready: map[*projection.Hold]time.Duration{}, open: map[int32]bool{}, busy: map[int32]time.Duration{}}
}

// endKnown reports whether the end of a hold's lease is known.
func (x *notices) endKnown(h *projection.Hold) bool {
	return h.Promised && h.Until != histories.Forever && !x.Header.SilentRenewals
}

func (x *notices) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	switch {
	case !x.Header.ReportsLoss:
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
	switch {
	case !x.Header.ReportsLoss:
		return
	case c == projection.Began:
		x.began(k, h)
		return
	case c != projection.Ended && c != projection.Closed:
		return
	}
	if _, ended := x.ready[h]; !ended {
		x.ready[h] = x.readyAt(h.Acquire.Client)
	}
	if c == projection.Closed {
		if x.endKnown(h) {
			x.expired(k, h)
		} else if next, taken := x.taken[h]; taken {
			x.takenOver(k, h, next)
		}
		delete(x.due, h)
		delete(x.taken, h)
		delete(x.ready, h)
	}
}

// began handles a new hold. Other holds of the key must have ended.
func (x *notices) began(k *projection.Key, h *projection.Hold) {
	for _, other := range k.Live {
		if _, taken := x.taken[other]; !taken && other != h {
			x.taken[other] = h.Acquire
		}
	}
}

// endOf returns the end of a hold, or of the judged part of the history if the hold has not ended.
func (x *notices) endOf(h *projection.Hold) time.Duration {
	if h.End == histories.Forever {
		return x.Until
	}
	return h.End
}

// expired judges an ended hold whose lease had a known end.
func (x *notices) expired(k *projection.Key, h *projection.Hold) {
	end := x.endOf(h)
	due := h.Confirmed // a paused process may record a renewal with too early a time, so use the latest possible end
	late := end - max(due, x.ready[h])
	if refused, ok := x.due[h]; ok {
		due, late = min(due, refused), max(late, end-x.faultEnd(h.Acquire.Client, refused))
	}
	limit := h.Given/3 + x.Slack + noticeTime
	if x.judge(due, end, late-limit) {
		x.show(k.Name, due, end, operations(h), "%s held %s from %s on; its lease ended, or its renewal was refused, at %s, and it was not told by %s; the limit is %s.",
			h, k.Name, h.Granted, due, end, limit)
	}
}

// takenOver judges an ended hold during which another client was granted the key.
func (x *notices) takenOver(k *projection.Key, h *projection.Hold, next histories.Op) {
	end, due, lease := x.endOf(h), next.Return, x.Header.TTL.D()
	if h.Confirmed != histories.Forever {
		due = max(due, h.Confirmed)
	}
	limit := lease + lease/3 + x.Slack + noticeTime
	if x.judge(due, end, end-max(due, x.ready[h])-limit) {
		x.show(k.Name, next.Return, end, append(operations(h), next), "%s held %s from %s on; %s was granted it at %s, and the first was not told by %s; the limit is %s.",
			h, k.Name, h.Granted, &next, next.Return, end, limit)
	}
}

// judge counts a hold that lasted beyond the time at which it should have ended. It reports whether the notice was later than any
// before.
func (x *notices) judge(due, end, late time.Duration) bool {
	if end <= due {
		return false
	}
	x.judged++
	x.longest = max(x.longest, end-due)
	return x.overrun(late)
}

// operations returns the acquire of a hold, and its release if it was released.
func operations(h *projection.Hold) []histories.Op {
	if h.Release.Kind == 0 {
		return []histories.Op{h.Acquire}
	}
	return []histories.Op{h.Acquire, h.Release}
}

func (x *notices) Finding() checker.Finding {
	if !x.Header.ReportsLoss {
		return checker.Finding{Observed: checker.NotApplicable, Why: "the lock does not report losses"}
	}
	return x.finding(fmt.Sprintf("%s beyond the end of the lease, a refused renewal or a take-over, at most %s", checker.Count(x.judged, "hold"), checker.Milliseconds(x.longest)),
		reason{x.judged == 0, checker.NotApplicable, "no hold lasted beyond its lease, a refused renewal or a grant to another client"})
}
