package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// renewals checks that a lease is renewed in time, and only while the client holds the key.
type renewals struct {
	timed    // counts late renewals at the end of the history; other violations are counted at once
	held     map[*projection.Hold]*lease
	answers  [3]int // number of renewals, by outcome
	least    time.Duration
	measured bool // whether at least one renewal was measured; if not, the minimum (field least) is not valid
}

// lease describes the current lease of a hold that has not ended.
type lease struct {
	until time.Duration    // time at which the lease expires if it is not renewed
	given time.Duration    // duration for which the lease was granted or last renewed
	taker *projection.Hold // first grant to another client during the hold, or nil
}

func (x *renewals) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Renew {
		return
	}
	x.answers[op.Outcome]++
	if op.Outcome != histories.OK {
		return
	}
	if h := k.Numbered(op); h != nil {
		x.confirmed(k, h, op)
	} else if g := x.Past.Find(op.Hold); g != nil {
		x.afterwards(k, g, op)
	}
}

// afterwards handles a confirmed renewal of a hold that has ended. It reports a violation if the renewal was called
// after the release, or after a grant to another client.
func (x *renewals) afterwards(k *projection.Key, g *projection.PastAcquire, op *histories.Op) {
	switch {
	case g.Ended && g.Release.Outcome == histories.OK && op.Call > g.Release.Return:
		if x.countViolation() {
			x.show(op.Key, op.Call, op.Return, []histories.Op{g.Acquire, g.Release, *op},
				"%s released %s at %s, which was answered ok at %s; a renewal of that hold, sent at %s, was confirmed at %s.",
				op, k.Name, g.Release.Call, g.Release.Return, op.Call, op.Return)
		}
	case g.Taker.Hold != 0 && g.Taker.Return < op.Call:
		x.reportRenewalAfterTakeover(k, &g.Acquire, &g.Taker, op)
	}
}

// reportRenewalAfterTakeover reports a violation: a renewal was confirmed although another client had been granted the
// key before.
func (x *renewals) reportRenewalAfterTakeover(k *projection.Key, acquire, taker, op *histories.Op) {
	if x.countViolation() {
		x.show(op.Key, op.Call, op.Return, []histories.Op{*acquire, *taker, *op},
			"%s was granted %s at %s, and %s was granted it at %s; a renewal by the former, sent at %s, was confirmed at %s.",
			acquire, k.Name, acquire.Return, taker, taker.Return, op.Call, op.Return)
	}
}

// confirmed checks a confirmed renewal of a current hold. The remaining lease time includes the allowance for clock
// error, so that a timely renewal never looks late.
func (x *renewals) confirmed(k *projection.Key, h *projection.Hold, op *histories.Op) {
	l := x.held[h]
	given := min(x.Header.TTL.D(), l.given)
	left := l.until + x.Slack - op.Call
	switch t := l.taker; {
	case t != nil && t.Granted < op.Call:
		x.reportRenewalAfterTakeover(k, &h.Acquire, &t.Acquire, op)
	case !h.Promised || l.until == 0 || l.until == histories.Forever || given <= 0:
	case left < given/4:
		if x.overrun(given/4-left) && x.violations == 0 {
			x.show(op.Key, op.Call, op.Return, []histories.Op{h.Acquire, *op},
				"%s had a lease of %s until %s and sent its renewal at %s, with %s left of %s, less than a quarter.",
				h, k.Name, l.until, op.Call, left, given)
		}
		fallthrough
	default:
		if !x.measured || left < x.least {
			x.least, x.measured = left, true
		}
	}
	l.until, l.given = h.Until, op.Validity
}

func (x *renewals) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	switch c {
	case projection.Began:
		l := &lease{until: h.Until, given: h.Given}
		if x.Header.WaitsInside && l.until < histories.Forever {
			l.until = max(l.until, h.Granted+h.Given) // the lease counts at most from the grant, because the granted request may have been sent at any time since the call
		}
		x.held[h] = l
		if h.Promised && h.Until <= h.Granted {
			return // the lease had expired before the grant was received, so this grant cannot conflict with other holds
		}
		for _, o := range k.Live {
			if l := x.held[o]; o != h && l.taker == nil && o.Acquire.Client != h.Acquire.Client {
				l.taker = h
			}
		}
	case projection.Nested:
		x.held[h].until, x.held[h].given = h.Until, h.Given
	case projection.Ended:
		if g := x.Past.Find(h.Number()); g != nil && x.held[h].taker != nil {
			g.Taker = x.held[h].taker.Acquire
		}
	case projection.Closed:
		delete(x.held, h)
	}
}

func (x *renewals) Finding() checker.Finding {
	confirmed, refused, unknown := x.answers[histories.OK], x.answers[histories.Refused], x.answers[histories.Unknown]
	evidence := fmt.Sprintf("%s confirmed, %d refused", checker.Count(confirmed, "renewal"), refused)
	if x.measured {
		evidence += ", " + checker.Milliseconds(x.least) + " left at least"
	}
	return x.finding(evidence,
		reason{confirmed+refused+unknown == 0, checker.NotApplicable, "nothing was renewed"},
		reason{confirmed+refused == 0, checker.Undecided, "no renewal got a definite answer"})
}
