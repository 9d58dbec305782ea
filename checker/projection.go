package checker

import (
	"slices"
	"time"

	"lockbench/histories"
)

// hold is one stretch of time in which one client held one key: from the return of the outermost acquire
// to the call of its release. Nested acquires by the same client are folded into it.
type hold struct {
	acquire histories.Op
	release histories.Op  // valid once ended
	inner   *histories.Op // the last inner release, where inners > 0

	granted  time.Duration // acquire.Return
	until    time.Duration // what was promised, moved on by confirmed renewals and nested grants; Forever if unbounded
	given    time.Duration // how long what was promised last was, from its sending on
	promised bool          // until is known
	over     time.Duration // when what was promised has ended for certain; Forever where nothing says so
	end      time.Duration // Forever while it lasts
	closed   time.Duration // when the release returned; Forever until then

	fault *histories.Op // after which its client was gone: it is never closed

	depth  int
	inners int   // inner releases
	heir   *hold // the first to be granted the key after this promise had run out
}

func (h *hold) number() int64 { return h.acquire.Hold }

// key is one lock: what the projection knows of it.
type key struct {
	name  string
	index int
	live  []*hold // granted and not ended
	going []*hold // ended, their release not returned
	last  *hold   // the one that ended last
}

// perKey is a judgement's state for each key.
type perKey[T any] []T

func (p *perKey[T]) of(k *key) *T {
	for len(*p) <= k.index {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[k.index]
}

// change is what an event does to a hold.
type change uint8

const (
	began         change = iota // granted
	nested                      // granted again to its owner
	extended                    // its promise was moved on
	innerReleased               // an inner release was called
	ended                       // its release was called, or its loss was told
	closed                      // its release returned, or never will: its client is gone, or the history over
)

// projection folds the events of a history into holds: both views, the oracle and the counts see the
// same ones.
type projection struct {
	slack time.Duration
	keys  map[string]*key
	list  []*key
	tell  func(*key, *hold, change)
	ends  map[int32]*histories.Op // by client: the fault after whose call it did nothing more
}

func newProjection(slack time.Duration, tell func(*key, *hold, change)) *projection {
	return &projection{slack: slack, keys: map[string]*key{}, tell: tell, ends: map[int32]*histories.Op{}}
}

func (p *projection) key(name string) *key {
	k, ok := p.keys[name]
	if !ok {
		k = &key{name: name, index: len(p.list)}
		p.keys[name], p.list = k, append(p.list, k)
	}
	return k
}

func (p *projection) event(k *key, ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.OK:
		p.grant(k, op)
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.Unknown:
		if h := k.heldBy(op); h != nil {
			h.over = histories.Forever // taken again, perhaps, and who knows when
		}
	case op.Kind == histories.Renew && op.Outcome != histories.Refused:
		p.renew(k, op)
	case op.Kind == histories.Lost:
		p.lost(k, op)
	case op.Kind == histories.Release && !ev.Return:
		p.releaseCalled(k, op)
	case op.Kind == histories.Release:
		p.releaseReturned(k, op)
	}
}

func (p *projection) grant(k *key, op *histories.Op) {
	if h := k.heldBy(op); h != nil {
		h.depth++
		h.over = max(h.over, overBy(op, p.slack))
		// One that the lock counts as the first is a new grant, and says nothing of the time between.
		if until, ok := op.Until(p.slack); ok && h.promised && op.Depth > 1 && until > h.until {
			h.until, h.given = until, op.Validity
			p.tell(k, h, extended)
		}
		p.tell(k, h, nested)
		return
	}
	h := &hold{acquire: *op, granted: op.Return, given: op.Validity, end: histories.Forever, closed: histories.Forever, depth: 1}
	h.until, h.promised = op.Until(p.slack)
	h.over = overBy(op, p.slack)
	k.live = append(k.live, h)
	fault := p.ends[op.Client]
	if fault == nil || op.Call > fault.Call {
		p.tell(k, h, began)
		return
	}
	h.end, h.fault = fault.Call, fault // the answer came to one who was gone
	p.tell(k, h, began)
	p.abandon(k, h, fault)
}

// gone ends what a client holds at the call of a fault after which it does nothing more.
func (p *projection) gone(op *histories.Op) {
	fault := *op
	p.ends[op.Client] = &fault
	for _, k := range p.list {
		for _, h := range slices.Clone(k.live) {
			if h.acquire.Client == op.Client && h.acquire.Call <= op.Call {
				p.abandon(k, h, &fault)
			}
		}
		for _, h := range slices.Clone(k.going) { // what became of its release, nobody knows
			if h.acquire.Client == op.Client {
				h.fault = &fault
				k.going = slices.DeleteFunc(k.going, func(o *hold) bool { return o == h })
				p.tell(k, h, closed)
			}
		}
	}
}

// abandon ends a hold that nobody gave up: the key may stay taken in the store.
func (p *projection) abandon(k *key, h *hold, fault *histories.Op) {
	h.fault = fault
	p.end(k, h, fault.Call)
	p.tell(k, h, closed)
}

func (p *projection) renew(k *key, op *histories.Op) {
	h := k.numbered(op)
	if h == nil {
		return
	}
	h.over = max(h.over, overBy(op, p.slack))
	if op.Outcome == histories.Unknown {
		return
	}
	if until, ok := op.Until(p.slack); ok && until > h.until {
		h.until, h.given, h.promised = until, op.Validity, true
		p.tell(k, h, extended)
	}
}

// overBy is when what a grant or renewal promised has ended for certain: the lease began no later than its
// answer was read. One without a definite answer may yet take effect, nobody knows when.
func overBy(op *histories.Op, slack time.Duration) time.Duration {
	if op.Outcome == histories.Unknown || op.Validity <= 0 {
		return histories.Forever
	}
	return op.Return + op.Validity + slack
}

func (p *projection) lost(k *key, op *histories.Op) {
	if h := k.numbered(op); h != nil {
		p.end(k, h, op.Call)
		h.closed = h.end
		p.tell(k, h, closed)
	}
}

func (p *projection) releaseCalled(k *key, op *histories.Op) {
	h := k.numbered(op)
	if h == nil {
		h = k.heldBy(op)
		switch {
		case h == nil:
			return // it releases what it does not hold
		case h.depth > 1:
			called := *op
			h.inner, h.inners, h.depth = &called, h.inners+1, h.depth-1
			p.tell(k, h, innerReleased)
			return
		case op.Hold != 0:
			return // it names another hold
		}
	}
	h.release = *op
	k.going = append(k.going, h)
	p.end(k, h, op.Call)
}

func (p *projection) end(k *key, h *hold, at time.Duration) {
	h.end = at
	k.live = slices.DeleteFunc(k.live, func(o *hold) bool { return o == h })
	p.tell(k, h, ended)
	k.last = h
}

func (p *projection) releaseReturned(k *key, op *histories.Op) {
	for i, h := range k.going {
		if h.release.Client == op.Client && h.release.Call == op.Call {
			h.release, h.closed = *op, op.Return
			k.going = slices.Delete(k.going, i, i+1)
			p.tell(k, h, closed)
			return
		}
	}
	for _, h := range k.live {
		if h.inners > 0 && h.inner.Client == op.Client && h.inner.Call == op.Call {
			*h.inner = *op
			p.innerReturned(h, op)
		}
	}
}

// innerReturned allows for a lock that sets the lease anew when it counts down.
func (p *projection) innerReturned(h *hold, op *histories.Op) {
	switch {
	case op.Outcome == histories.Refused:
	case op.Outcome == histories.OK && h.acquire.Validity > 0:
		h.over = max(h.over, op.Return+max(h.acquire.Validity, h.given)+p.slack)
	default:
		h.over = histories.Forever
	}
}

// finish closes what is still open: it never ended.
func (p *projection) finish() {
	for _, k := range p.list {
		for _, h := range append(k.going, k.live...) {
			p.tell(k, h, closed)
		}
	}
}

// heldBy is the hold on the key of the client, in the life, that an operation is of.
func (k *key) heldBy(op *histories.Op) *hold {
	for _, h := range k.live {
		if h.acquire.Client == op.Client && h.acquire.Life == op.Life {
			return h
		}
	}
	return nil
}

// numbered is the hold that an operation names. A release names the outermost acquire even where a nested
// one was indeterminate and began another life.
func (k *key) numbered(op *histories.Op) *hold {
	if op.Hold == 0 {
		return nil
	}
	for _, h := range k.live {
		if h.number() == op.Hold && h.acquire.Client == op.Client {
			return h
		}
	}
	return nil
}
