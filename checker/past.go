package checker

import (
	"time"

	"lockbench/histories"
)

// past remembers how recent acquires came out and what became of their holds, by the number of the acquire.
// It has room for a fixed number of them, and what is pushed out is not known any more: whoever asks must
// take that for an answer, so that a long history costs no more than a short one.
type past struct {
	slack time.Duration
	of    [256]*[16]gone
}

// gone is an acquire that has returned.
type gone struct {
	acquire histories.Op
	release histories.Op  // the last of its hold; none where it was lost
	taker   histories.Op  // the acquire of the first other client to be granted the key while it lasted; none where nobody was
	over    time.Duration // of the hold, valid where ended
	key     int
	known   bool
	ended   bool
}

func newPast(slack time.Duration) *past { return &past{slack: slack} }

// at is where an acquire's number is kept: the recorder gives numbers out one after the other, so that
// some four thousand recent ones have places of their own.
func (p *past) at(number int64) *gone {
	page := &p.of[uint64(number)>>4%256]
	if *page == nil {
		*page = new([16]gone)
	}
	return &(*page)[number&15]
}

// find returns what is known of an acquire, or nil.
func (p *past) find(number int64) *gone {
	if g := p.at(number); g.known && g.acquire.Hold == number && number != 0 {
		return g
	}
	return nil
}

// event takes in acquires that return, and renewals, which may have been on their way when their hold ended.
func (p *past) event(k *key, ev histories.Event) {
	op := ev.Op
	if op.Kind == histories.Renew && op.Outcome != histories.Refused {
		if g := p.find(op.Hold); g != nil {
			g.over = max(g.over, overBy(op, p.slack))
		}
	}
	if op.Kind != histories.Acquire || !ev.Return || op.Hold == 0 {
		return
	}
	*p.at(op.Hold) = gone{acquire: *op, key: k.index, known: true}
}

// change takes in the end of a hold.
func (p *past) change(h *hold, c change) {
	if c != closed {
		return
	}
	if g := p.find(h.number()); g != nil && h.end < histories.Forever {
		g.release, g.over, g.ended = h.release, max(g.over, h.over), true
	}
}
