// Package projection derives holds from the events of a history: which client held which key, from when to when. The
// main type is Projection.
package projection

import (
	"slices"
	"time"

	"lockbench/histories"
)

// Hold is the time for which one client held one key: from the return of the acquire to the call of its release. Nested
// acquires by the same client belong to the same hold.
type Hold struct {
	Acquire histories.Op
	Release histories.Op  // valid if a release ended the hold
	Inner   *histories.Op // last release of a nested acquire; valid if Inners > 0

	Granted   time.Duration // time at which the acquire returned
	Until     time.Duration // earliest end of the lease; Forever if the lease does not expire
	Stated    time.Duration // earliest end of the lease as the lock stated it; Until may be later if the store was observed
	earlier   [2]statement  // Stated before each of the two latest extensions, the latest one first
	Given     time.Duration // length of the latest lease
	Promised  bool          // the lock stated the length of the lease, so Until is valid
	Over      time.Duration // latest end of the lease; Forever if unknown
	Confirmed time.Duration // like Over, but without renewals whose outcome is unknown: the end that the client knows
	End       time.Duration // time at which the hold ended (call of the release, loss or fault), or Forever
	Closed    time.Duration // time at which the release returned, or Forever

	Fault *histories.Op // fault that ended the client, or nil; if set, Closed remains Forever

	observed *histories.Op // first observation that found the hold's entry in the store, or nil
	Vanished time.Duration // time of the first observation that no longer found the entry; 0 if it is still there or unknown

	Depth  int
	Inners int   // number of releases of nested acquires
	Unsure bool  // the store may count more nested holds than the client: the release of one had an unknown outcome
	Heir   *Hold // first hold granted after the lease of this hold had expired, or nil
}

// statement is the end of a lease that the lock stated until the time of its next statement.
type statement struct {
	end   time.Duration
	until time.Duration // return of the acquire or renewal that extended the lease
}

// extend records that an operation extended the lease until a later time.
func (h *Hold) extend(until time.Duration, op *histories.Op) {
	h.earlier = [2]statement{{h.Stated, op.Return}, h.earlier[0]}
	h.Until, h.Stated, h.Given = until, until, op.Validity
}

// StatedAt returns the end of the lease as the lock had stated it at the given time. It returns 0 if more than two extensions
// followed.
func (h *Hold) StatedAt(at time.Duration) time.Duration {
	switch {
	case h.earlier[0].until <= at:
		return h.Stated
	case h.earlier[1].until <= at:
		return h.earlier[0].end
	}
	return 0
}

// Number returns the hold number, which is the number of the outermost acquire.
func (h *Hold) Number() int64 { return h.Acquire.Hold }

// Key is a lock key with its current holds and its previous hold.
type Key struct {
	Name      string
	Index     int
	Live      []*Hold // holds that have not ended
	Releasing []*Hold // holds that have ended but whose release has not returned
	Last      *Hold   // hold that ended last, or nil

	asking []waited // outstanding acquires; used only if the field Projection.waits is set
}

// PerKey holds one value of type T for each key.
type PerKey[T any] []T

// Of returns a pointer to the value for a key. The value is initially zero.
func (p *PerKey[T]) Of(k *Key) *T {
	for len(*p) <= k.Index {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[k.Index]
}

// Change states what happened to a hold, for example that it was granted, extended or released.
type Change uint8

const (
	Began         Change = iota // the hold was granted
	Nested                      // the holder acquired the key again
	Extended                    // the lease was extended
	InnerReleased               // the release of a nested acquire was called
	Ended                       // the release was called, the hold was reported lost, or its client ended
	Closed                      // the release returned, or will never return
)

// Projection derives holds from the events of a history. The events must be passed to Event and Gone in order.
type Projection struct {
	slack time.Duration
	keys  map[string]*Key
	Keys  []*Key
	tell  func(*Key, *Hold, Change)
	ends  map[int32]*histories.Op // fault that ended the client, by client
	step  time.Duration           // precision of observed leases; 0 if observations do not extend holds
	waits bool                    // whether leases count from releases; see PromiseFromReleases
}

// New returns a Projection, which derives holds from the events of a history. The Projection calls the function tell
// after each change of a hold. slack is the allowance for clock error.
func New(slack time.Duration, tell func(*Key, *Hold, Change)) *Projection {
	return &Projection{slack: slack, keys: map[string]*Key{}, tell: tell, ends: map[int32]*histories.Op{}}
}

// Key returns the key with the given name. A new name adds a key without holds.
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
	sent := op.Call
	if p.waits && op.Kind == histories.Acquire {
		sent = p.asked(k, ev)
	}
	switch {
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.OK:
		p.grant(k, op, sent)
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.Unknown:
		if h := k.HeldBy(op); h != nil {
			h.Over = histories.Forever // the acquire may have extended the lease, because its outcome is unknown
		}
	case op.Kind == histories.Renew && op.Outcome != histories.Refused:
		p.renew(k, op)
	case op.Kind == histories.Seen:
		p.handleObservation(k, op)
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

// grant handles a granted acquire. The store granted it at or after the time sent.
func (p *Projection) grant(k *Key, op *histories.Op, sent time.Duration) {
	if h := k.HeldBy(op); h != nil {
		h.Depth++
		h.Over, h.Confirmed = max(h.Over, overBy(op, p.slack)), max(h.Confirmed, overBy(op, p.slack))
		// A depth below the number of acquires means that the lock did not count one of them as nested: it granted a new hold. The
		// lease of that one does not extend the lease of this hold.
		if until, ok := op.Until(p.slack); ok && h.Promised && int(op.Depth) >= h.Depth && until > h.Until {
			h.extend(until, op)
			p.tell(k, h, Extended)
		}
		p.tell(k, h, Nested)
		return
	}
	h := &Hold{Acquire: *op, Granted: op.Return, Given: op.Validity, End: histories.Forever, Closed: histories.Forever, Depth: 1}
	if h.Until, h.Promised = op.Until(p.slack); h.Promised && op.Validity > 0 {
		h.Until = max(h.Until, sent+op.Validity-p.slack)
	}
	h.Stated = h.Until
	h.Over = overBy(op, p.slack)
	h.Confirmed = h.Over
	k.Live = append(k.Live, h)
	fault := p.ends[op.Client]
	if fault == nil || op.Call > fault.Call {
		p.tell(k, h, Began)
		return
	}
	h.End, h.Fault = fault.Call, fault // a fault ended the client before the acquire returned
	p.tell(k, h, Began)
	p.abandon(k, h, fault)
}

// Gone handles a fault that kills a client or makes the client go away. All holds of the client end at the start of the
// fault.
func (p *Projection) Gone(op *histories.Op) {
	fault := *op
	p.ends[op.Client] = &fault
	for _, k := range p.Keys {
		for _, h := range slices.Clone(k.Live) {
			if h.Acquire.Client == op.Client && h.Acquire.Call <= op.Call {
				p.abandon(k, h, &fault)
			}
		}
		for _, h := range slices.Clone(k.Releasing) { // the releases of this client will not return
			if h.Acquire.Client == op.Client {
				h.Fault = &fault
				k.Releasing = removeHold(k.Releasing, h)
				p.tell(k, h, Closed)
			}
		}
	}
}

// abandon ends a hold whose client was killed or went away. The store may keep the key locked.
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
	h.Confirmed = max(h.Confirmed, overBy(op, p.slack))
	if until, ok := op.Until(p.slack); ok && until > h.Until {
		h.extend(until, op)
		h.Promised = true
		p.tell(k, h, Extended)
	}
}

// overBy returns the latest possible end of the lease that an acquire or a renewal started. It returns Forever if the
// outcome or the length of the lease is unknown.
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
			return // op releases a different hold
		}
	}
	h.Release = *op
	k.Releasing = append(k.Releasing, h)
	p.end(k, h, op.Call)
}

func (p *Projection) end(k *Key, h *Hold, at time.Duration) {
	h.End = at
	k.Live = removeHold(k.Live, h)
	p.tell(k, h, Ended)
	k.Last = h
}

func (p *Projection) releaseReturned(k *Key, op *histories.Op) {
	switch h, inner := k.ReleasedBy(op); {
	case h == nil:
	case inner:
		*h.Inner = *op
		switch { // releasing a nested acquire may renew the lease
		case op.Outcome == histories.Refused:
		case op.Outcome == histories.OK && h.Acquire.Validity > 0:
			over := op.Return + max(h.Acquire.Validity, h.Given) + p.slack
			h.Over, h.Confirmed = max(h.Over, over), max(h.Confirmed, over)
		default:
			h.Over, h.Unsure = histories.Forever, true
		}
	default:
		h.Release, h.Closed = *op, op.Return
		k.releasedValid(h)
		k.Releasing = removeHold(k.Releasing, h)
		p.tell(k, h, Closed)
	}
}

// ReleasedBy returns the hold that op releases. op must be a release that has not returned. The result is nil if the
// client of op does not hold the key. inner reports whether op releases only a nested acquire.
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

func removeHold(holds []*Hold, h *Hold) []*Hold {
	return slices.DeleteFunc(holds, func(o *Hold) bool { return o == h })
}

// Finish must be called at the end of the history. It reports the change Closed for each hold that has not ended or
// whose release has not returned.
func (p *Projection) Finish() {
	for _, k := range p.Keys {
		for _, h := range append(k.Releasing, k.Live...) {
			p.tell(k, h, Closed)
		}
	}
}

// HeldBy returns the current hold of the key by the client of op, or nil. The hold must have been acquired with the
// same Life as op. The Life of a client increases after each acquire or release with an unknown outcome.
func (k *Key) HeldBy(op *histories.Op) *Hold {
	for _, h := range k.Live {
		if h.Acquire.Client == op.Client && h.Acquire.Life == op.Life {
			return h
		}
	}
	return nil
}

// Numbered returns the current hold with the hold number and the client of op, or nil. Unlike HeldBy, it does not
// compare Life.
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

// View defines when a hold ends: only at its release (see Lived), or also when its lease expires (see Promised).
type View struct {
	Property string
	Lapses   bool // a late renewal may extend a hold whose lease had expired
	// End returns the time at which a hold ended. ok is false if the time is unknown.
	End func(*Hold) (end time.Duration, ok bool)
}

// Lived returns the view in which a hold ends at its release, even if its lease expired before.
func Lived() View {
	return View{Property: "mutual-exclusion", End: func(h *Hold) (time.Duration, bool) { return h.End, true }}
}

// Promised returns a View, which defines when a hold ends. The hold ends at its release or when its lease expires,
// whichever comes first.
func Promised() View {
	return View{Property: "lease-exclusion", Lapses: true, End: func(h *Hold) (time.Duration, bool) { return min(h.End, h.Until), h.Promised }}
}
