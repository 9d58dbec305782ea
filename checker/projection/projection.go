// Package projection folds the events of a history into holds: who had which key from when to when. Monitors, counts and the
// oracle all see the same holds.
package projection

import (
	"slices"
	"time"

	"lockbench/histories"
)

// Hold is the time in which one client held one key: from the return of the outermost acquire to the call of its release.
// Nested acquires by the same client are part of it.
type Hold struct {
	Acquire histories.Op
	Release histories.Op  // valid once ended
	Inner   *histories.Op // the last inner release, where inners > 0

	Granted  time.Duration // acquire.Return
	Until    time.Duration // what was promised, moved on by confirmed renewals and nested grants; Forever if unbounded
	Given    time.Duration // how long what was promised last was, from its sending on
	Promised bool          // until is known
	Over     time.Duration // when what was promised has ended for certain; Forever where nothing says so
	End      time.Duration // Forever while it lasts
	Closed   time.Duration // when the release returned; Forever until then

	Fault *histories.Op // after which its client was gone: it is never closed

	Depth  int
	Inners int   // inner releases
	Heir   *Hold // the first to be granted the key after this promise had run out
}

func (h *Hold) Number() int64 { return h.Acquire.Hold }

// Key is one lock: what the projection knows of it.
type Key struct {
	Name      string
	Index     int
	Live      []*Hold // granted and not ended
	Releasing []*Hold // ended, their release not returned
	Last      *Hold   // the one that ended last
}

// PerKey is a judgement's state for each key.
type PerKey[T any] []T

func (p *PerKey[T]) Of(k *Key) *T {
	for len(*p) <= k.Index {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[k.Index]
}

// Change is what an event does to a hold.
type Change uint8

const (
	Began         Change = iota // granted
	Nested                      // granted again to its owner
	Extended                    // its promise was moved on
	InnerReleased               // an inner release was called
	Ended                       // its release was called, or its loss was told
	Closed                      // its release returned, or never will: its client is gone, or the history over
)

// Projection folds the events of a history into holds.
type Projection struct {
	slack time.Duration
	keys  map[string]*Key
	Keys  []*Key
	tell  func(*Key, *Hold, Change)
	ends  map[int32]*histories.Op // by client: the fault after whose call it did nothing more
}

func New(slack time.Duration, tell func(*Key, *Hold, Change)) *Projection {
	return &Projection{slack: slack, keys: map[string]*Key{}, tell: tell, ends: map[int32]*histories.Op{}}
}

func (p *Projection) Key(name string) *Key {
	k, ok := p.keys[name]
	if !ok {
		k = &Key{Name: name, Index: len(p.Keys)}
		p.keys[name], p.Keys = k, append(p.Keys, k)
	}
	return k
}

func (p *Projection) Event(k *Key, ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.OK:
		p.grant(k, op)
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.Unknown:
		if h := k.HeldBy(op); h != nil {
			h.Over = histories.Forever // taken again, perhaps, and who knows when
		}
	case op.Kind == histories.Renew && op.Outcome != histories.Refused:
		p.renew(k, op)
	case op.Kind == histories.Lost:
		if h := k.Numbered(op); h != nil {
			p.end(k, h, op.Call)
			h.Closed = h.End
			p.tell(k, h, Closed)
		}
	case op.Kind == histories.Release && !ev.Return:
		p.releaseCalled(k, op)
	case op.Kind == histories.Release:
		p.releaseReturned(k, op)
	}
}

func (p *Projection) grant(k *Key, op *histories.Op) {
	if h := k.HeldBy(op); h != nil {
		h.Depth++
		h.Over = max(h.Over, overBy(op, p.slack))
		// One that the lock counts as the first is a new grant, and says nothing of the time between.
		if until, ok := op.Until(p.slack); ok && h.Promised && op.Depth > 1 && until > h.Until {
			h.Until, h.Given = until, op.Validity
			p.tell(k, h, Extended)
		}
		p.tell(k, h, Nested)
		return
	}
	h := &Hold{Acquire: *op, Granted: op.Return, Given: op.Validity, End: histories.Forever, Closed: histories.Forever, Depth: 1}
	h.Until, h.Promised = op.Until(p.slack)
	h.Over = overBy(op, p.slack)
	k.Live = append(k.Live, h)
	fault := p.ends[op.Client]
	if fault == nil || op.Call > fault.Call {
		p.tell(k, h, Began)
		return
	}
	h.End, h.Fault = fault.Call, fault // the answer came to one who was gone
	p.tell(k, h, Began)
	p.abandon(k, h, fault)
}

// Gone ends what a client holds at the call of a fault after which it does nothing more.
func (p *Projection) Gone(op *histories.Op) {
	fault := *op
	p.ends[op.Client] = &fault
	for _, k := range p.Keys {
		for _, h := range slices.Clone(k.Live) {
			if h.Acquire.Client == op.Client && h.Acquire.Call <= op.Call {
				p.abandon(k, h, &fault)
			}
		}
		for _, h := range slices.Clone(k.Releasing) { // what became of its release, nobody knows
			if h.Acquire.Client == op.Client {
				h.Fault = &fault
				k.Releasing = without(k.Releasing, h)
				p.tell(k, h, Closed)
			}
		}
	}
}

// abandon ends a hold that nobody gave up: the key may stay taken in the store.
func (p *Projection) abandon(k *Key, h *Hold, fault *histories.Op) {
	h.Fault = fault
	p.end(k, h, fault.Call)
	p.tell(k, h, Closed)
}

func (p *Projection) renew(k *Key, op *histories.Op) {
	h := k.Numbered(op)
	if h == nil {
		return
	}
	h.Over = max(h.Over, overBy(op, p.slack))
	if op.Outcome == histories.Unknown {
		return
	}
	if until, ok := op.Until(p.slack); ok && until > h.Until {
		h.Until, h.Given, h.Promised = until, op.Validity, true
		p.tell(k, h, Extended)
	}
}

// overBy returns when what a grant or renewal promised has certainly ended: the lease began no later than its answer was
// read. One without a definite answer may still take effect at any time.
func overBy(op *histories.Op, slack time.Duration) time.Duration {
	if op.Outcome == histories.Unknown || op.Validity <= 0 {
		return histories.Forever
	}
	return op.Return + op.Validity + slack
}

func (p *Projection) releaseCalled(k *Key, op *histories.Op) {
	h := k.Numbered(op)
	if h == nil {
		h = k.HeldBy(op)
		switch {
		case h == nil:
			return // it releases what it does not hold
		case h.Depth > 1:
			called := *op
			h.Inner, h.Inners, h.Depth = &called, h.Inners+1, h.Depth-1
			p.tell(k, h, InnerReleased)
			return
		case op.Hold != 0:
			return // it names another hold
		}
	}
	h.Release = *op
	k.Releasing = append(k.Releasing, h)
	p.end(k, h, op.Call)
}

func (p *Projection) end(k *Key, h *Hold, at time.Duration) {
	h.End = at
	k.Live = without(k.Live, h)
	p.tell(k, h, Ended)
	k.Last = h
}

func (p *Projection) releaseReturned(k *Key, op *histories.Op) {
	switch h, inner := k.ReleasedBy(op); {
	case h == nil:
	case inner:
		*h.Inner = *op
		switch { // the lock may set the lease anew when it counts down
		case op.Outcome == histories.Refused:
		case op.Outcome == histories.OK && h.Acquire.Validity > 0:
			h.Over = max(h.Over, op.Return+max(h.Acquire.Validity, h.Given)+p.slack)
		default:
			h.Over = histories.Forever
		}
	default:
		h.Release, h.Closed = *op, op.Return
		k.Releasing = without(k.Releasing, h)
		p.tell(k, h, Closed)
	}
}

// ReleasedBy returns the hold that a release which was called ends, or which it is an inner release of; nil if there is none.
func (k *Key) ReleasedBy(op *histories.Op) (h *Hold, inner bool) {
	for _, h := range k.Releasing {
		if h.Release.Client == op.Client && h.Release.Call == op.Call {
			return h, false
		}
	}
	for _, h := range k.Live {
		if h.Inners > 0 && h.Inner.Client == op.Client && h.Inner.Call == op.Call {
			return h, true
		}
	}
	return nil, false
}

func without(holds []*Hold, h *Hold) []*Hold {
	return slices.DeleteFunc(holds, func(o *Hold) bool { return o == h })
}

// Finish closes what is still open: it never ended.
func (p *Projection) Finish() {
	for _, k := range p.Keys {
		for _, h := range append(k.Releasing, k.Live...) {
			p.tell(k, h, Closed)
		}
	}
}

// HeldBy is the hold on the key of the client, in the life, that an operation is of.
func (k *Key) HeldBy(op *histories.Op) *Hold {
	for _, h := range k.Live {
		if h.Acquire.Client == op.Client && h.Acquire.Life == op.Life {
			return h
		}
	}
	return nil
}

// Numbered returns the hold that an operation names. A release names the outermost acquire even if an indeterminate nested
// one began another life.
func (k *Key) Numbered(op *histories.Op) *Hold {
	if op.Hold == 0 {
		return nil
	}
	for _, h := range k.Live {
		if h.Number() == op.Hold && h.Acquire.Client == op.Client {
			return h
		}
	}
	return nil
}

// View is one way to look at a hold.
type View struct {
	Property string
	Lapses   bool // an end may be moved on after another's grant
	// end returns when the hold ended in this view; ok is false if that is unknown.
	End func(*Hold) (end time.Duration, ok bool)
}

// Lived cuts a hold where its client gave it up.
func Lived() View {
	return View{Property: "mutual-exclusion", End: func(h *Hold) (time.Duration, bool) { return h.End, true }}
}

// Promised cuts a hold where its promise ends as well.
func Promised() View {
	return View{Property: "lease-exclusion", Lapses: true, End: func(h *Hold) (time.Duration, bool) { return min(h.End, h.Until), h.Promised }}
}
