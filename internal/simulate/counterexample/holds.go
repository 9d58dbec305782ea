package counterexample

import (
	"slices"
	"time"

	"lockbench/histories"
)

// hold is a period in which a client holds a key. It begins with the grant. It ends with the release, a reported loss
// or the end of the client. A re-entrant acquire does not begin a new hold.
type hold struct {
	acquire  *histories.Op
	release  *histories.Op // nil if the hold was not released
	renewals []*histories.Op
	end      time.Duration // histories.Forever if the hold did not end
}

// holdKey identifies a hold by its client and by its hold number in the history.
type holdKey struct {
	client int32
	number int64
}

func keyOf(op *histories.Op) holdKey { return holdKey{op.Client, op.Hold} }

// holdsOf returns the holds in the order of their acquires. It also returns them as a map by hold key. The set inner
// contains the hold keys of re-entrant grants.
func holdsOf(ops []histories.Op) (all []*hold, of map[holdKey]*hold, inner map[holdKey]bool) {
	of, inner = map[holdKey]*hold{}, map[holdKey]bool{}
	current := map[int32]*hold{}
	for i := range ops {
		op := &ops[i]
		h := of[keyOf(op)]
		switch {
		case op.Kind == histories.Acquire && op.Outcome == histories.OK && !op.Open():
			if outer := current[op.Client]; outer != nil && outer.acquire.Key == op.Key && outer.acquire.Return <= op.Call {
				inner[keyOf(op)] = true
				continue
			}
			h = &hold{acquire: op, end: histories.Forever}
			current[op.Client], of[keyOf(op)] = h, h
			all = append(all, h)
		case op.EndsClient():
			for _, h := range all {
				if h.acquire.Client == op.Client {
					h.end = min(h.end, op.Call)
				}
			}
		case h == nil:
		case op.Kind == histories.Release && h.release == nil:
			h.release, h.end = op, min(h.end, op.Call)
			delete(current, op.Client)
		case op.Kind == histories.Lost:
			h.end = min(h.end, op.Call)
			delete(current, op.Client)
		case op.Kind == histories.Renew && op.Outcome == histories.OK:
			h.renewals = append(h.renewals, op)
		}
	}
	return all, of, inner
}

// promise returns the time at which a hold's lease ends. It ignores renewals after the time at. If no lease is stated,
// ok is false.
func (h *hold) promise(at time.Duration) (until time.Duration, ok bool) {
	until, ok = h.acquire.Until(0)
	for _, renewal := range h.renewals {
		if later, said := renewal.Until(0); said && renewal.Return <= at {
			until, ok = max(until, later), true
		}
	}
	return until, ok
}

// overlaps returns the holds of other clients on the same key that overlap a hold in time.
func (x *Example) overlaps(h *hold) []*hold {
	var all []*hold
	for _, o := range x.holds {
		if o.acquire.Client != h.acquire.Client && o.acquire.Key == h.acquire.Key && o.acquire.Return < h.end && h.acquire.Return < o.end {
			all = append(all, o)
		}
	}
	return all
}

// otherHolds returns the holds of other clients on the operation's key at the time at. It returns at most one hold for
// each client.
func (x *Example) otherHolds(op *histories.Op, at time.Duration) []*hold {
	var all []*hold
	for _, h := range x.overlaps(&hold{acquire: &histories.Op{Client: op.Client, Key: op.Key, Return: at - 1}, end: at}) {
		if h.end > at {
			all = append(slices.DeleteFunc(all, func(o *hold) bool { return o.acquire.Client == h.acquire.Client }), h)
		}
	}
	return all
}

// struck reports whether a fault affected the operation's client during the operation or its hold. Only faults that
// began during that time count.
func (x *Example) struck(op *histories.Op) bool {
	from, to := op.Call, op.Return
	if h := x.of[keyOf(op)]; h != nil {
		from, to = h.acquire.Call, h.end
		if h.release != nil {
			to = max(h.release.Call, h.release.Return)
		}
	}
	return slices.ContainsFunc(x.faults, func(f *fault) bool {
		return slices.Contains(f.Clients, op.Client) && from <= f.From && (op.Open() || f.From <= to)
	})
}

// clientEnded reports whether the operation's client was killed or went away before the operation returned.
func (x *Example) clientEnded(op *histories.Op) bool {
	return slices.ContainsFunc(x.Ops, func(o histories.Op) bool {
		return o.EndsClient() && o.Client == op.Client && o.Call+sameTime >= op.Call && (op.Open() || o.Call <= op.Return)
	})
}
