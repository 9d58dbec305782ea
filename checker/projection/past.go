package projection

import (
	"time"

	"lockbench/histories"
)

// Past stores the results of recent acquires and the ends of their holds. Old acquires are evicted.
type Past struct {
	slack time.Duration
	of    [256]*[16]PastAcquire
}

// PastAcquire is an acquire that has returned, with the end of its hold.
type PastAcquire struct {
	Acquire histories.Op
	Release histories.Op  // last release of the hold; zero if no release was called
	Taker   histories.Op  // first grant to another client during the hold; zero if no client was granted the key
	Over    time.Duration // time by which the lease has certainly expired; valid if Ended is set
	Key     int
	known   bool
	Ended   bool
}

// NewPast returns an empty Past, which stores recent acquires and the ends of their holds. slack is the allowance for
// clock error.
func NewPast(slack time.Duration) *Past { return &Past{slack: slack} }

// element returns the element for the acquire with the given hold number. The element may contain an older
// acquire. Hold numbers are sequential, so recent acquires do not overwrite each other.
func (p *Past) element(number int64) *PastAcquire {
	page := &p.of[uint64(number)>>4%256]
	if *page == nil {
		*page = new([16]PastAcquire)
	}
	return &(*page)[number&15]
}

// Find returns the acquire with the given hold number, or nil if the acquire is unknown or evicted.
func (p *Past) Find(number int64) *PastAcquire {
	if g := p.element(number); g.known && g.Acquire.Hold == number && number != 0 {
		return g
	}
	return nil
}

// Event records the result of an acquire or a renewal. A renewal may return after its hold has ended.
func (p *Past) Event(k *Key, ev histories.Event) {
	op := ev.Op
	if op.Kind == histories.Renew && op.Outcome != histories.Refused {
		if g := p.Find(op.Hold); g != nil {
			g.Over = max(g.Over, overBy(op, p.slack))
		}
	}
	if op.Kind != histories.Acquire || !ev.Return || op.Hold == 0 {
		return
	}
	*p.element(op.Hold) = PastAcquire{Acquire: *op, Key: k.Index, known: true}
}

// Change records the end of a hold when its release has returned or will never return (c is Closed). It ignores all
// other changes of a hold.
func (p *Past) Change(h *Hold, c Change) {
	if c != Closed {
		return
	}
	if g := p.Find(h.Number()); g != nil && h.End < histories.Forever {
		g.Release, g.Over, g.Ended = h.Release, max(g.Over, h.Over), true
	}
}
