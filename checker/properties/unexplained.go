package properties

import (
	"slices"
	"time"

	"lockbench/histories"
)

// soonest is the time after which a timeout may explain an unknown outcome. Clients of stores wait longer than that.
const soonest = time.Second

// longestGap is the maximum time between two observations of a store that answered throughout. A request that was unanswered
// for the time soonest overlaps at least one observation.
const longestGap = 500 * time.Millisecond

// unexplained finds operations with an unknown outcome that nothing explains: no fault other than a short delay has happened in
// the history so far, the operation returned too early for a timeout, and its client went on. A client that does not go on may
// have been interrupted at the end of the trial.
//
// A timeout of the client of a store explains no outcome if lockbench observed the store throughout the operation, because the
// store then answered.
//
// A single acquire with an unknown outcome may have reached its timeout while its last request was in flight. Without a
// fault, most acquires must nevertheless have a definite answer at their timeout.
type unexplained struct {
	found    []histories.Op         // unexplained operations after which the client has gone on, without timeouts
	last     map[int32]histories.Op // unexplained operation that is the client's last one so far, by client
	timeouts []histories.Op         // acquires with an unknown outcome at their timeout
	refused  int                    // number of acquires that were refused at their timeout

	observed     bool          // whether the store was observed
	since, until time.Duration // latest time without a longer gap between observations
}

// fewTimeouts is the largest number of unknown outcomes at a timeout that a correct lock may have without a fault.
const fewTimeouts = 3

// busy is the shortest pause of lockbench, or read of the store, that shows a busy machine. On a busy machine, a client may time
// out although nothing is wrong: some wait for less than a tenth of a second.
const busy = 50 * time.Millisecond

// seen handles an observation of the store.
func (x *unexplained) seen(op *histories.Op) {
	if !x.observed || op.Call-x.until > longestGap {
		x.observed, x.since = true, op.Call
	}
	x.until = max(x.until, op.Return)
}

// attended reports whether the store was observed throughout an acquire that has a timeout or no limit.
func (x *unexplained) attended(op *histories.Op) bool {
	waits := op.Kind == histories.Acquire && (op.Wait > 0 || op.Wait == histories.Unlimited)
	return waits && x.observed && x.since-op.Call <= longestGap && op.Return-x.until <= longestGap
}

// event handles the call or the return of an acquire or a release. fault reports whether a fault other than a delay of a message
// has happened.
func (x *unexplained) event(ev histories.Event, fault bool) {
	op := ev.Op
	if op.Kind == histories.Seen {
		x.seen(op)
	}
	if op.Kind != histories.Acquire && op.Kind != histories.Release || fault {
		return
	}
	before, found := x.last[op.Client]
	if found && op.Kind == histories.Acquire && op.Call >= before.Return {
		delete(x.last, op.Client)
		if timedOut(&before) {
			x.timeouts = append(x.timeouts, before)
		} else {
			x.found = append(x.found, before)
		}
	}
	if ev.Return && op.Outcome == histories.Refused && timedOut(op) {
		x.refused++
	}
	granted := op.Validity != 0 // the lock has answered; only the time of the grant is unknown
	if ev.Return && op.Outcome == histories.Unknown && !granted && op.Error != histories.Cancelled && (op.Return-op.Call < soonest || timedOut(op) || x.attended(op)) {
		if x.last == nil {
			x.last = map[int32]histories.Op{}
		}
		x.last[op.Client] = *op
	}
}

// keepBefore removes the operations that returned after the first fault that may explain them.
func (x *unexplained) keepBefore(fault time.Duration) {
	late := func(op histories.Op) bool { return op.Return >= fault }
	x.found, x.timeouts = slices.DeleteFunc(x.found, late), slices.DeleteFunc(x.timeouts, late)
}

// wrongTimeouts returns the acquires with an unknown outcome at their timeout, if they are too many.
func (x *unexplained) wrongTimeouts() []histories.Op {
	if len(x.timeouts) <= fewTimeouts || len(x.timeouts) <= x.refused {
		return nil
	}
	return x.timeouts
}

// timedOut reports whether an acquire returned so late that its timeout may explain an unknown outcome.
func timedOut(op *histories.Op) bool {
	return op.Kind == histories.Acquire && op.Wait > 0 && op.Return-op.Call >= op.Wait*9/10
}
