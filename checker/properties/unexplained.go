package properties

import (
	"time"

	"lockbench/histories"
)

// soonest is the time after which a timeout may explain an unknown outcome. Clients of stores wait longer than that.
const soonest = time.Second

// unexplained finds operations with an unknown outcome that nothing explains: no fault has happened in the history so far,
// the operation returned too early for a timeout, and its client went on. A client that does not go on may have been
// interrupted at the end of the trial.
//
// A single acquire with an unknown outcome may have reached its timeout while its last request was in flight. Without a
// fault, most acquires must nevertheless have a definite answer at their timeout.
type unexplained struct {
	found    []histories.Op         // unexplained operations after which the client has gone on, without timeouts
	last     map[int32]histories.Op // unexplained operation that is the client's last one so far, by client
	timeouts []histories.Op         // acquires with an unknown outcome at their timeout
	refused  int                    // number of acquires that were refused at their timeout
}

// fewTimeouts is the largest number of unknown outcomes at a timeout that a correct lock may have without a fault.
const fewTimeouts = 3

// busy is the shortest pause of lockbench, or read of the store, that shows a busy machine. On a busy machine, a client may time
// out although nothing is wrong: some wait for less than a tenth of a second.
const busy = 50 * time.Millisecond

// event handles the call or the return of an acquire or a release. faults is the number of clients, servers and networks that a
// fault has affected so far.
func (x *unexplained) event(ev histories.Event, faults int) {
	op := ev.Op
	if op.Kind != histories.Acquire && op.Kind != histories.Release || faults > 0 {
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
	if ev.Return && op.Outcome == histories.Unknown && !granted && op.Error != histories.Cancelled && (op.Return-op.Call < soonest || timedOut(op)) {
		if x.last == nil {
			x.last = map[int32]histories.Op{}
		}
		x.last[op.Client] = *op
	}
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
