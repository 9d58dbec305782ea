package properties

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// earlyBy plus the longest back-off of a lock is the time by which an acquire may be refused before its timeout.
const earlyBy = 100 * time.Millisecond

// timeouts checks that an acquire is not refused before its timeout, and that it returns soon after its timeout. A cancelled
// acquire has the time of its cancellation as its timeout. After a pause or a delay, which lose nothing, the timeout counts from the
// end of the fault, because the request may have been delayed.
type timeouts struct {
	timed
	waits int
}

func (x *timeouts) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire || !ev.Return || op.Wait == 0 {
		return
	}
	delayed := x.delayedUntil(op.Client, op.Call)
	if delayed == histories.Forever {
		return
	}
	wait, backOff := op.Wait, x.Header.BackOff.D()
	x.waits++
	switch wait {
	case histories.Try:
		wait = 0
	case histories.Unlimited:
		wait = histories.Forever
	}
	took := op.Return - op.Call
	switch early := wait - backOff - earlyBy - took; {
	case early > 0 && delayed == op.Call && op.Outcome == histories.Refused && op.Error != histories.Cancelled:
		if x.countViolation() {
			x.show(k.Name, op.Call, op.Return, []histories.Op{*op}, "%s requested %s at %s %s and was refused (busy) at %s, after %s.",
				op, k.Name, op.Call, x.named(op.Wait), op.Return, took)
		}
	case x.overrun(op.Return-delayed-wait-backOff-answerTime) && x.violations == 0:
		x.show(k.Name, op.Call, op.Return, []histories.Op{*op}, "%s requested %s at %s %s and got the answer at %s, after %s.",
			op, k.Name, op.Call, x.named(op.Wait), op.Return, took)
	}
}

// named describes the timeout of an acquire in words, for a report.
func (x *timeouts) named(wait time.Duration) string {
	switch wait {
	case histories.Try:
		return "without a wait"
	case histories.Unlimited:
		return "without a limit"
	}
	return x.tell("with a timeout of %s", wait)
}

func (x *timeouts) Finding() checker.Finding {
	return x.finding(checker.Count(x.waits, "acquire"),
		reason{x.waits == 0, checker.NotApplicable, "no timeout of an acquire is recorded"})
}
