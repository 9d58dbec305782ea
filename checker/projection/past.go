package projection

import (
	"time"

	"lockbench/histories"
)

// Past remembers how recent acquires came out and what became of their holds, by the number of the acquire. Its size is
// fixed: older ones are evicted, and callers must handle that.
type Past struct {
	slack time.Duration
	of    [256]*[16]PastAcquire
}

// PastAcquire is an acquire that has returned.
type PastAcquire struct {
	Acquire histories.Op
	Release histories.Op  // the last of its hold; none where it was lost
	Taker   histories.Op  // the acquire of the first other client to be granted the key while it lasted; none where nobody was
	Over    time.Duration // of the hold, valid where ended
	Key     int
	known   bool
	Ended   bool
}

func NewPast(slack time.Duration) *Past { return &Past{slack: slack} }

// at returns the place of an acquire's number. Numbers are given out in turn, so that some four thousand recent ones have
// places of their own.
func (p *Past) at(number int64) *PastAcquire {
	page := &p.of[uint64(number)>>4%256]
	if *page == nil {
		*page = new([16]PastAcquire)
	}
	return &(*page)[number&15]
}

// Find returns what is known of an acquire, or nil.
func (p *Past) Find(number int64) *PastAcquire {
	if g := p.at(number); g.known && g.Acquire.Hold == number && number != 0 {
		return g
	}
	return nil
}

// Event handles acquires that return, and renewals, which may have been under way when their hold ended.
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

// Change takes in the end of a hold.
func (p *Past) Change(h *Hold, c Change) {
	if c != Closed {
		return
	}
	if g := p.Find(h.Number()); g != nil && h.End < histories.Forever {
		g.Release, g.Over, g.Ended = h.Release, max(g.Over, h.Over), true
	}
}
