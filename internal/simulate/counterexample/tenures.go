package counterexample

import (
	"slices"
	"time"

	"lockbench/histories"
)

// tenure is a hold, from its grant to its end.
type tenure struct {
	acquire  *histories.Op
	release  *histories.Op // nil: there was none
	renewals []*histories.Op
	end      time.Duration // histories.Forever: it had none
}

// holdsOf are the holds of a run, in the order of their grants. A lock that its client takes again while it holds it
// is one hold; inner has those acquires that make it so, and their releases.
func holdsOf(ops []histories.Op) (all []*tenure, inner map[place]bool) {
	inner = map[place]bool{}
	open := map[place]*tenure{} // by client; hold has its number, and kind and call are not set
	of := map[place]*tenure{}
	for i := range ops {
		op := &ops[i]
		if op.Kind == histories.Acquire && op.Outcome == histories.OK && !op.Open() {
			if h := open[place{client: op.Client}]; h != nil && h.acquire.Key == op.Key && h.acquire.Return <= op.Call {
				inner[place{client: op.Client, hold: op.Hold}] = true
				continue
			}
			h := &tenure{acquire: op, end: histories.Forever}
			open[place{client: op.Client}] = h
			all = append(all, h)
			of[place{client: op.Client, hold: op.Hold}] = h
		}
		over := op.Kind == histories.Release || op.Kind == histories.Lost
		if h := open[place{client: op.Client}]; over && h != nil && h.acquire.Hold == op.Hold {
			delete(open, place{client: op.Client})
		}
	}
	for i := range ops {
		op := &ops[i]
		for _, h := range all {
			if op.EndsClient() && op.Client == h.acquire.Client && op.Call >= h.acquire.Return {
				h.end = min(h.end, op.Call)
			}
		}
		h := of[place{client: op.Client, hold: op.Hold}]
		switch {
		case h == nil:
		case op.Kind == histories.Release && h.release == nil:
			h.release, h.end = op, min(h.end, op.Call)
		case op.Kind == histories.Lost:
			h.end = min(h.end, op.Call)
		case op.Kind == histories.Renew && op.Outcome == histories.OK:
			h.renewals = append(h.renewals, op)
		}
	}
	return all, inner
}

// promise is until when a hold was promised to last, as far as was known at a time; ok is false where nothing was said.
func (h *tenure) promise(at time.Duration) (until time.Duration, ok bool) {
	until, ok = h.acquire.Until(0)
	for _, renewal := range h.renewals {
		if later, said := renewal.Until(0); said && renewal.Return <= at {
			until, ok = max(until, later), true
		}
	}
	return until, ok
}

// others are the holds of others on the key of an operation that last at a time, the last of each client.
func (s *teller) others(op *histories.Op, at time.Duration) []*tenure {
	var all []*tenure
	for _, h := range s.holds {
		if h.acquire.Client == op.Client || h.acquire.Key != op.Key || h.acquire.Return >= at || h.end <= at {
			continue
		}
		all = slices.DeleteFunc(all, func(o *tenure) bool { return o.acquire.Client == h.acquire.Client })
		all = append(all, h)
	}
	return all
}

// quiet are the holds that went as they should, told together where nothing else happened between them.
func (s *teller) quiet() []*moment {
	var all []*moment
	for _, h := range s.holds {
		if !s.uneventful(h) {
			continue
		}
		ops := s.under(h)
		for _, op := range ops {
			s.told[placeOf(op)] = true
		}
		if n := len(all); n > 0 && s.calm(all[n-1].at, h.release.Return) {
			all[n-1].ops = append(all[n-1].ops, ops...)
			continue
		}
		m := &moment{at: h.acquire.Return, rank: ends, weight: trifle, ops: ops}
		m.tell = func() string { return s.quietly(m) }
		all = append(all, m)
	}
	return all
}

// under are the operations of a hold, its acquire first and its release last.
func (s *teller) under(h *tenure) []*histories.Op {
	all := []*histories.Op{h.acquire}
	for i := range s.Ops {
		op := &s.Ops[i]
		if op.Client == h.acquire.Client && op.Hold == h.acquire.Hold && op != h.acquire && op != h.release && !op.Kind.SelfStarted() {
			all = append(all, op)
		}
	}
	return append(all, h.release)
}

// uneventful tells whether a hold began and ended as it should while nothing went wrong and nobody else held.
func (s *teller) uneventful(h *tenure) bool {
	r := h.release
	if r == nil || r.Open() || r.Outcome != histories.OK || r.Return > s.until || !s.key(r) || h.end < r.Call || s.fresh(r.Client) ||
		slices.ContainsFunc(s.under(h), s.inWitness) {
		return false
	}
	overlaps := slices.ContainsFunc(s.holds, func(o *tenure) bool {
		return o.acquire.Client != r.Client && o.acquire.Key == r.Key && o.acquire.Return < h.end && h.acquire.Return < o.end
	})
	return !overlaps && s.calm(h.acquire.Return, r.Return)
}

// calm tells whether nothing goes wrong between two times, and no hold begins or ends of which more is to be told.
func (s *teller) calm(from, to time.Duration) bool {
	for _, f := range s.faults {
		if from <= f.from && f.from <= to {
			return false
		}
	}
	return !slices.ContainsFunc(s.witness.Ops, func(op histories.Op) bool {
		return op.Kind == histories.Acquire && from <= op.Return && op.Return <= to
	})
}
