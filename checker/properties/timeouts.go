package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// earlyBy is added to the longest back-off of a lock to get the time by which an acquire may be refused before its timeout.
const earlyBy = 100 * time.Millisecond

// timeouts checks that an acquire returns when its timeout ends, and not earlier unless it is granted.
type timeouts struct {
	timed
	waits, tries int
}

func (x *timeouts) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire || !ev.Return || op.Wait == 0 || op.Wait == histories.Unlimited || x.overlapped(op.Client, op.Call) {
		return
	}
	wait, backOff := op.Wait, x.Header.BackOff.D()
	if x.waits++; wait == histories.Try {
		wait = 0
		x.waits--
		x.tries++
	}
	took := op.Return - op.Call
	switch early := wait - backOff - earlyBy - took; {
	case early > 0 && op.Outcome == histories.Refused && op.Error != histories.Cancelled:
		if x.first() {
			x.show(k.Name, op.Call, op.Return, []histories.Op{*op}, "%s requested %s at %s with a timeout of %s and was refused (busy) at %s, after %s.",
				op, k.Name, op.Call, wait, op.Return, took)
		}
	case x.overrun(took-wait-backOff-answerTime) && x.violations == 0:
		x.show(k.Name, op.Call, op.Return, []histories.Op{*op}, "%s requested %s at %s with a timeout of %s and got the answer at %s, after %s.",
			op, k.Name, op.Call, wait, op.Return, took)
	}
}

func (x *timeouts) Finding() checker.Finding {
	return x.finding(fmt.Sprintf("%s with a timeout, %d tries", checker.Count(x.waits, "acquire"), x.tries),
		reason{x.waits+x.tries == 0, checker.NotApplicable, "no timeout of an acquire is recorded"})
}
