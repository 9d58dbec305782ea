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

// notices checks that a holder learns in time of the end of its lease, or of a refused renewal.
type notices struct {
	timed
	due     map[*projection.Hold]time.Duration // time at which a renewal was refused, by hold
	judged  int
	longest time.Duration
}

func newNotices(m monitor) *notices {
	return &notices{timed: timed{monitor: m}, due: map[*projection.Hold]time.Duration{}}
}

// applies reports whether the property is applicable: the lock reports both losses and renewals.
func (x *notices) applies() bool { return x.Header.ReportsLoss && !x.Header.SilentRenewals }

func (x *notices) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Renew || !x.applies() {
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

func (x *notices) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	if c != projection.Closed || !x.applies() {
		return
	}
	defer delete(x.due, h)
	if !h.Promised || h.Until == histories.Forever {
		return
	}
	due := h.Over // use the latest possible end of the lease, because a paused process may record a renewal with too early a time
	if refused, ok := x.due[h]; ok {
		due = min(due, refused)
	}
	end := h.End
	if end == histories.Forever {
		end = x.Until
	}
	if end <= due {
		return
	}
	x.judged++
	x.longest = max(x.longest, end-due)
	limit := h.Given/3 + x.Slack + noticeTime
	if !x.overrun(end - x.faultEnd(h.Acquire.Client, due) - limit) {
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
