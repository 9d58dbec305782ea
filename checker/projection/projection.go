// Package projection derives holds from the events of a history: which client held which key, from when to when. Monitors,
// counts and the oracle all use the same holds. The main type is Projection.
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
	Release histories.Op  // valid if the hold was ended by a release
	Inner   *histories.Op // last release of a nested acquire, if Inners > 0

	Granted  time.Duration // acquire.Return
	Until    time.Duration // earliest end of the lease; extended by confirmed renewals and nested grants; Forever if unbounded
	Given    time.Duration // length of the latest lease, counted from the call of its request
	Promised bool          // whether Until is known
	Over     time.Duration // latest end of the lease; Forever if unknown
	End      time.Duration // time at which the release was called; Forever while the hold lasts
	Closed   time.Duration // time at which the release returned; Forever until then

	Fault *histories.Op // fault that ended the client; Closed then remains Forever

	Depth  int
	Inners int   // inner releases
	Heir   *Hold // first hold granted after the lease of this hold expired
}

// Number returns the hold number: the number of the outermost acquire.
func (h *Hold) Number() int64 { return h.Acquire.Hold }

// Key holds the current and the last holds of one lock key.
type Key struct {
	Name      string
	Index     int
	Live      []*Hold // holds that are granted and have not ended
	Releasing []*Hold // holds that have ended and whose release has not returned
	Last      *Hold   // hold that ended last
}

// PerKey holds a value of type T for each key. Each monitor keeps its state in one.
type PerKey[T any] []T

// Of returns a pointer to the value for a key, which is the zero value at first.
func (p *PerKey[T]) Of(k *Key) *T {
	for len(*p) <= k.Index {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[k.Index]
}

// Change is a kind of change of a hold.
type Change uint8

const (
	Began         Change = iota // granted
	Nested                      // the holder was granted the key again
	Extended                    // the lease was extended
	InnerReleased               // the release of a nested acquire was called
	Ended                       // the release was called, or the loss of the hold was reported
	Closed                      // the release returned, or cannot return because the client or the history has ended
)

// Projection derives holds from the events of a history, which are passed to Event and Gone in order.
type Projection struct {
	slack time.Duration
	keys  map[string]*Key
	Keys  []*Key
	tell  func(*Key, *Hold, Change)
	ends  map[int32]*histories.Op // by client: fault that ended the client
}

// New returns a projection that calls tell for each change of a hold. slack is the allowance for clock error.
func New(slack time.Duration, tell func(*Key, *Hold, Change)) *Projection {
	return &Projection{slack: slack, keys: map[string]*Key{}, tell: tell, ends: map[int32]*histories.Op{}}
}

// Key returns the key with the given name, and adds it without holds if it is new.
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
		// If the lock counts this grant as an outermost one (depth 1), it is a new grant and does not extend the old lease.
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
	h.End, h.Fault = fault.Call, fault // the client had ended before this operation returned
	p.tell(k, h, Began)
	p.abandon(k, h, fault)
}

// Gone ends the holds of a client. op is the fault that ended the client, and its call is the end of the holds.
func (p *Projection) Gone(op *histories.Op) {
	fault := *op
	p.ends[op.Client] = &fault
	for _, k := range p.Keys {
		for _, h := range slices.Clone(k.Live) {
			if h.Acquire.Client == op.Client && h.Acquire.Call <= op.Call {
				p.abandon(k, h, &fault)
			}
		}
		for _, h := range slices.Clone(k.Releasing) { // results of releases of this client remain unknown
			if h.Acquire.Client == op.Client {
				h.Fault = &fault
				k.Releasing = without(k.Releasing, h)
				p.tell(k, h, Closed)
			}
		}
	}
}

// abandon ends a hold whose client was ended by a fault. The key may stay locked in the store.
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

// overBy returns the latest end of the lease that a grant or renewal started: a lease starts no later than its answer is
// received. It returns Forever if there is no definite answer, because the request may still take effect.
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
			return // the client does not hold the key
		case h.Depth > 1:
			called := *op
			h.Inner, h.Inners, h.Depth = &called, h.Inners+1, h.Depth-1
			p.tell(k, h, InnerReleased)
			return
		case op.Hold != 0:
			return // the release is for another hold
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
		switch { // the lock may renew the lease when it releases a nested acquire
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

// ReleasedBy returns the hold that op, an outstanding release, would end. It returns nil if the client of op held nothing.
// inner reports whether op releases only a nested acquire.
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

// Finish marks all remaining holds as Closed at the end of the history.
func (p *Projection) Finish() {
	for _, k := range p.Keys {
		for _, h := range append(k.Releasing, k.Live...) {
			p.tell(k, h, Closed)
		}
	}
}

// HeldBy returns the current hold on the key by the client of op. The hold must be from the same Life of the client.
func (k *Key) HeldBy(op *histories.Op) *Hold {
	for _, h := range k.Live {
		if h.Acquire.Client == op.Client && h.Acquire.Life == op.Life {
			return h
		}
	}
	return nil
}

// Numbered returns the hold with the hold number and client of op. Unlike HeldBy, it ignores the Life of the client.
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

// View defines when a hold ends: at its release (Lived), or also when its lease expires (Promised).
type View struct {
	Property string
	Lapses   bool // whether a renewal may extend a hold after a grant to another client
	// End returns when a hold ended; ok is false if that is unknown.
	End func(*Hold) (end time.Duration, ok bool)
}

// Lived returns the view in which a hold ends at its release.
func Lived() View {
	return View{Property: "mutual-exclusion", End: func(h *Hold) (time.Duration, bool) { return h.End, true }}
}

// Promised returns the view in which a hold ends at its release or when its lease expires, whichever is first.
func Promised() View {
	return View{Property: "lease-exclusion", Lapses: true, End: func(h *Hold) (time.Duration, bool) { return min(h.End, h.Until), h.Promised }}
}
