package shop

import (
	"time"

	"lockbench/histories"
)

// shortest is what must be left of a hold, after all that is uncertain was taken from it, for it to be recorded as one.
const shortest = time.Microsecond

// account is what a service did for a buyer, as operations of the history. A service tells times on its own clock, and
// when that began is known within bounds. A grant is recorded no earlier than it may have been read, and what ends the hold no
// later than it may have been sent, so a hold appears shorter than it was, if at all. Where nothing certain is left of it the
// acquire is recorded as unknown, and its release not at all: nothing can be said of such a hold, and nothing is.
type account struct {
	bounds
	sent, received time.Duration // of the request and its answer
	hold           func() int64  // numbers an acquire
	ops            []histories.Op
	last           time.Duration // the return of the last operation
	number         int64         // of the present hold
	unplaced       int           // holds of which nothing certain was left
}

func (a *account) tell(steps []Step) []histories.Op {
	a.last = a.sent
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && steps[n].Kind != histories.Acquire {
			n++
		}
		a.one(steps[:n])
		steps = steps[n:]
	}
	return a.ops
}

// early is the earliest time of the history at which something may have happened, and late the latest.
func (a *account) early(at time.Duration) time.Duration { return max(a.sent, a.earliest+at) }
func (a *account) late(at time.Duration) time.Duration  { return min(a.received, a.latest+at) }

func (a *account) one(steps []Step) {
	a.number = a.hold()
	acquire, inside := a.acquire(steps[0]), steps[1:]
	if acquire.Outcome != histories.OK {
		a.add(acquire)
		return
	}
	end := a.received
	for _, s := range inside {
		if s.Kind == histories.Release || s.Kind == histories.Lost {
			end = min(end, a.early(s.Called))
		}
	}
	room := time.Duration(2*len(inside) + 2) // operations of one client are nanoseconds apart
	placed := a.earliest <= a.latest && end-acquire.Return >= max(shortest, room)
	if !placed {
		a.unplaced++
		acquire.Outcome, acquire.Error = histories.Unknown, "nothing certain is left of the hold"
		acquire.Return = max(a.last+2, min(acquire.Return, a.received-room))
		end = max(a.received, acquire.Return+room)
	}
	a.add(acquire)
	for i, s := range inside {
		switch {
		case s.Kind == histories.Release && placed:
			a.add(a.op(s, end, max(end, a.late(s.Returned))))
		case s.Kind == histories.Lost && placed:
			a.ops = append(a.ops, a.op(s, end, end)) // it runs beside the client's own operations
		case s.Kind != histories.Release && s.Kind != histories.Lost:
			latest := end - time.Duration(2*(len(inside)-i))
			call := min(max(a.last+1, a.early(s.Called)), latest)
			a.add(a.op(s, call, min(max(call, a.late(s.Returned)), latest)))
		}
	}
}

// acquire begins no earlier than what the client did before, and its promise no later than it was asked for.
func (a *account) acquire(s Step) histories.Op {
	sent := a.early(s.Called) + s.SentAfter
	op := a.op(s, max(a.last+1, a.early(s.Called)), a.late(s.Returned))
	op.Return = max(op.Return, op.Call)
	op.SentAfter, op.Validity, op.Depth, op.Fence = max(0, sent-op.Call), s.Validity, s.Depth, s.Fence
	if over := op.Call + op.SentAfter - sent; over > 0 && op.Validity > over {
		op.Validity -= over
	}
	return op
}

func (a *account) op(s Step, call, end time.Duration) histories.Op {
	return histories.Op{Kind: s.Kind, Outcome: s.Outcome, Key: s.Key, Hold: a.number, Value: s.Value, Error: s.Error, Call: call, Return: end}
}

func (a *account) add(op histories.Op) {
	a.ops = append(a.ops, op)
	a.last = op.Return
}
