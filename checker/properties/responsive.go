package properties

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

const (
	// returnTime plus the longest back-off of a lock is the time within which an operation must return after its
	// deadline.
	returnTime = time.Second
	// troubledTime is the time within which an operation must return if a fault affected the client, a server or the
	// network. It is longer, because client libraries have timeouts of several seconds.
	troubledTime = 10 * time.Second
)

// returns checks that every acquire, release and renewal returns, and that none panics.
type returns struct {
	timed
	open    map[int32]*histories.Op // outstanding acquires and releases, by client
	judged  int
	longest time.Duration // longest time between the deadline and the return
}

func (x *returns) Event(_ *projection.Key, ev histories.Event) {
	op := ev.Op
	switch op.Kind {
	case histories.Acquire, histories.Release, histories.Renew:
	default:
		return
	}
	if ev.Return {
		delete(x.open, op.Client)
		if strings.HasPrefix(op.Error, histories.Panicked) && x.countViolation() {
			x.show(op.Key, op.Call, op.Return, []histories.Op{*op}, "the lock panicked in the %s of %s by %s: %s.", op.Kind, op.Key, op, op.Error)
		}
		x.judge(op, op.Return, x.faultEnd(op.Client, op.Call))
		return
	}
	called := *op
	called.Return = histories.StillOpen
	x.open[op.Client] = &called
}

// Fault handles a fault that ends a client. The client's outstanding operation will not return.
func (x *returns) Fault(ev histories.Event) { delete(x.open, ev.Op.Client) }

// judge checks one operation. until is the time of its return, or the end of the history. calm is the end of the faults
// that may have delayed the operation.
func (x *returns) judge(op *histories.Op, until, calm time.Duration) {
	deadline := op.Call
	if op.Kind == histories.Acquire {
		switch {
		case op.Wait == 0 || op.Wait == histories.Unlimited:
			return
		case op.Wait > 0:
			deadline += op.Wait
		}
	}
	limit := returnTime + x.Header.BackOff.D()
	if x.faults[op.Client] != nil || x.faults[histories.Harness] != nil {
		limit = troubledTime
	}
	x.judged++
	x.longest = max(x.longest, until-deadline)
	if !x.overrun(until - max(deadline, calm) - limit) {
		return
	}
	end := x.tell("it returned at %s", until)
	if op.Open() {
		end = "it never returned"
	}
	x.show(op.Key, op.Call, until, []histories.Op{*op}, "the %s of %s by %s was called at %s and due by %s; %s.", op.Kind, op.Key, op, op.Call, deadline, end)
}

func (x *returns) Finding() checker.Finding {
	for _, client := range slices.Sorted(maps.Keys(x.open)) {
		op := x.open[client]
		x.judge(op, x.Until, x.finalFaultEnd(op.Client, op.Call))
	}
	return x.finding(fmt.Sprintf("%s, at most %s late", checker.Count(x.judged, "operation"), checker.Milliseconds(x.longest)),
		reason{x.judged == 0, checker.NotApplicable, "no operation has a deadline"})
}
