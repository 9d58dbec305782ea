// Package projection folds the events of a history into holds: which client held which key, and from when to when.
// Monitors, counts and the oracle all use the same holds. The main type is Projection.
package projection

import (
	"slices"
	"time"

	"lockbench/histories"
)

// Hold is the time for which one client held one key: from the return of the outermost acquire to the call of its release.
// It includes nested acquires by the same client.
type Hold struct {
	Acquire histories.Op
	Release histories.Op  // valid if the hold has ended by a release
	Inner   *histories.Op // the last inner release, if Inners > 0

	Granted  time.Duration // acquire.Return
	Until    time.Duration // end of the promise; confirmed renewals and nested grants extend it; Forever if unbounded
	Given    time.Duration // length of the latest promise, counted from its request
	Promised bool          // Until is known
	Over     time.Duration // when the promise has certainly ended; Forever if unknown
	End      time.Duration // Forever while the hold lasts
	Closed   time.Duration // return of the release; Forever until then

	Fault *histories.Op // the fault that ended the client; the hold is never closed

	Depth  int
	Inners int   // inner releases
	Heir   *Hold // the first hold granted after this one's promise ended
}

// Number returns the number of the outermost acquire.
func (h *Hold) Number() int64 { return h.Acquire.Hold }

// Key holds the projection's state of one lock key.
type Key struct {
	Name      string
	Index     int
	Live      []*Hold // granted and not ended
	Releasing []*Hold // ended, but the release has not returned
	Last      *Hold   // the hold that ended last
}

// PerKey holds a judgement's state for each key.
type PerKey[T any] []T

// Of returns the state for a key, at first zero.
func (p *PerKey[T]) Of(k *Key) *T {
	for len(*p) <= k.Index {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[k.Index]
}

// Change is the effect of an event on a hold.
type Change uint8

const (
	Began         Change = iota // granted
	Nested                      // granted again to its owner
	Extended                    // its promise was extended
	InnerReleased               // an inner release was called
	Ended                       // its release was called, or its loss was reported
	Closed                      // its release returned, or cannot return because its client or the history ended
)

// Projection folds the events of a history into holds.
type Projection struct {
	slack time.Duration
	keys  map[string]*Key
	Keys  []*Key
	tell  func(*Key, *Hold, Change)
	ends  map[int32]*histories.Op // by client: the fault that ended the client
}

// New returns a projection that calls tell for each change of a hold.
func New(slack time.Duration, tell func(*Key, *Hold, Change)) *Projection {
	return &Projection{slack: slack, keys: map[string]*Key{}, tell: tell, ends: map[int32]*histories.Op{}}
}

// Key returns the state of a key, at first empty.
func (p *Projection) Key(name string) *Key {
	k, ok := p.keys[name]
	if !ok {
		k = &Key{Name: name, Index: len(p.Keys)}
		p.keys[name], p.Keys = k, append(p.Keys, k)
	}
	return k
}

// Event processes the next event on a key.
func (p *Projection) Event(k *Key, ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.OK:
		p.grant(k, op)
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.Unknown:
		if h := k.HeldBy(op); h != nil {
			h.Over = histories.Forever // an acquire without an answer may have extended the lease
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
		// If the lock counts this grant as its first, it is a new grant and does not extend the old promise.
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
	h.End, h.Fault = fault.Call, fault // the client had ended before the answer arrived
	p.tell(k, h, Began)
	p.abandon(k, h, fault)
}

// Gone ends the holds of a client at the call of the fault that ended it.
func (p *Projection) Gone(op *histories.Op) {
	fault := *op
	p.ends[op.Client] = &fault
	for _, k := range p.Keys {
		for _, h := range slices.Clone(k.Live) {
			if h.Acquire.Client == op.Client && h.Acquire.Call <= op.Call {
				p.abandon(k, h, &fault)
			}
		}
		for _, h := range slices.Clone(k.Releasing) { // the result of its release is unknown
			if h.Acquire.Client == op.Client {
				h.Fault = &fault
				k.Releasing = without(k.Releasing, h)
				p.tell(k, h, Closed)
			}
		}
	}
}

// abandon ends a hold that was not released: the key may stay locked in the store.
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

// overBy returns when the promise of a grant or renewal has certainly ended: the lease began no later than the answer was
// received. Without a definite answer it returns Forever, because the request may still take effect.
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
			return // a release by a client that does not hold
		case h.Depth > 1:
			called := *op
			h.Inner, h.Inners, h.Depth = &called, h.Inners+1, h.Depth-1
			p.tell(k, h, InnerReleased)
			return
		case op.Hold != 0:
			return // the release names another hold
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
		switch { // the lock may renew the lease when it decrements its counter
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

// ReleasedBy returns the hold that a called release ends; inner reports whether it only releases a nested acquire. It
// returns nil if the client holds nothing.
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

// Finish closes the holds that have not ended.
func (p *Projection) Finish() {
	for _, k := range p.Keys {
		for _, h := range append(k.Releasing, k.Live...) {
			p.tell(k, h, Closed)
		}
	}
}

// HeldBy returns the hold on the key by the client and life of an operation.
func (k *Key) HeldBy(op *histories.Op) *Hold {
	for _, h := range k.Live {
		if h.Acquire.Client == op.Client && h.Acquire.Life == op.Life {
			return h
		}
	}
	return nil
}

// Numbered returns the hold that an operation names. A release names the outermost acquire even if an indeterminate nested
// acquire began another life.
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

// View defines when a hold ends.
type View struct {
	Property string
	Lapses   bool // an end may be extended after another grant
	// End returns when the hold ended in this view; ok is false if that is unknown.
	End func(*Hold) (end time.Duration, ok bool)
}

// Lived ends a hold at its release.
func Lived() View {
	return View{Property: "mutual-exclusion", End: func(h *Hold) (time.Duration, bool) { return h.End, true }}
}

// Promised ends a hold at its release or at the end of its promise, whichever is first.
func Promised() View {
	return View{Property: "lease-exclusion", Lapses: true, End: func(h *Hold) (time.Duration, bool) { return min(h.End, h.Until), h.Promised }}
}
