package projection

import (
	"time"

	"lockbench/histories"
)

// Past stores the results of recent acquires, by hold number, and how the holds ended. Its size is fixed: old acquires are
// evicted, and Find then returns nil.
type Past struct {
	slack time.Duration
	of    [256]*[16]PastAcquire
}

// PastAcquire is an acquire that has returned.
type PastAcquire struct {
	Acquire histories.Op
	Release histories.Op  // last release of the hold; zero if the hold was lost
	Taker   histories.Op  // first grant to another client during the hold; zero if no client was granted the key
	Over    time.Duration // time at which the lease has certainly expired (see Hold.Over); valid if Ended is set
	Key     int
	known   bool
	Ended   bool
}

// NewPast returns an empty Past. slack is the allowance for clock error.
func NewPast(slack time.Duration) *Past { return &Past{slack: slack} }

// at returns the slot for a hold number. Hold numbers are sequential, so recent acquires have different slots.
func (p *Past) at(number int64) *PastAcquire {
	page := &p.of[uint64(number)>>4%256]
	if *page == nil {
		*page = new([16]PastAcquire)
	}
	return &(*page)[number&15]
}

// Find returns the acquire with a hold number, or nil if it is unknown or evicted.
func (p *Past) Find(number int64) *PastAcquire {
	if g := p.at(number); g.known && g.Acquire.Hold == number && number != 0 {
		return g
	}
	return nil
}

// Event records the return of an acquire or a renewal. A renewal may return after its hold has ended.
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
	*p.at(op.Hold) = PastAcquire{Acquire: *op, Key: k.Index, known: true}
}

// Change records the end of a hold.
func (p *Past) Change(h *Hold, c Change) {
	if c != Closed {
		return
	}
	if g := p.Find(h.Number()); g != nil && h.End < histories.Forever {
		g.Release, g.Over, g.Ended = h.Release, max(g.Over, h.Over), true
	}
}
