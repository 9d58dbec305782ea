package projection

import (
	"time"

	"lockbench/histories"
)

// Past holds the results of recent acquires, by number, and how their holds ended. Its size is fixed: old acquires are
// evicted, and callers must handle a missing one.
type Past struct {
	slack time.Duration
	of    [256]*[16]PastAcquire
}

// PastAcquire is an acquire that has returned.
type PastAcquire struct {
	Acquire histories.Op
	Release histories.Op  // the last release of the hold; zero if the hold was lost
	Taker   histories.Op  // the first grant to another client during the hold; zero if no other client was granted
	Over    time.Duration // Hold.Over, valid if the hold has ended
	Key     int
	known   bool
	Ended   bool
}

// NewPast returns an empty Past.
func NewPast(slack time.Duration) *Past { return &Past{slack: slack} }

// at returns the slot of an acquire. Numbers are sequential, so recent acquires have different slots.
func (p *Past) at(number int64) *PastAcquire {
	page := &p.of[uint64(number)>>4%256]
	if *page == nil {
		*page = new([16]PastAcquire)
	}
	return &(*page)[number&15]
}

// Find returns a past acquire, or nil if it is unknown or evicted.
func (p *Past) Find(number int64) *PastAcquire {
	if g := p.at(number); g.known && g.Acquire.Hold == number && number != 0 {
		return g
	}
	return nil
}

// Event records acquires that return, and renewals, which may return after their hold has ended.
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
