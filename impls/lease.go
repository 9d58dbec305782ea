package impls

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lease is a hold that is looked after: renewed until it is released, and declared lost when it was refused,
// or when the last confirmed lease is over by this process's own clock, whatever the network does.
type lease struct {
	grant Grant
	ttl   time.Duration
	start time.Time // of its acquire
	lost  chan struct{}
	depth int         // how often this process holds it; guarded by the lock's mutex
	first *time.Timer // of the first renewal; nil where it is looked after from the beginning

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing renews any more

	mu    sync.Mutex // guards what follows; never held across a command
	until time.Time  // what was last confirmed, less the drift
	timer *time.Timer
	over  bool // lost or released
}

func newLease(life context.Context, g Grant, ttl time.Duration, start time.Time) *lease {
	ctx, cancel := context.WithCancel(life)
	return &lease{grant: g, ttl: ttl, start: start, lost: make(chan struct{}), ctx: ctx, cancel: cancel, done: make(chan struct{})}
}

// confirm moves the end on: the store gave so much from a moment after sent. False: it was over already.
func (h *lease) confirm(sent time.Time, lasts time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	until := sent.Add(lasts - min(drift(h.ttl), lasts/2))
	if until.Before(h.until) {
		return true
	}
	h.until = until
	switch left := time.Until(until); {
	case left <= 0: // told when it is over: lost before anybody asks to renew it
		h.loseLocked()
	case h.timer == nil:
		h.timer = time.AfterFunc(left, h.expire)
	default:
		h.timer.Reset(left)
	}
	return true
}

// expire is called by the timer, which a confirmation may have overtaken.
func (h *lease) expire() {
	h.mu.Lock()
	overtaken := time.Now().Before(h.until)
	h.mu.Unlock()
	if !overtaken {
		h.lose()
	}
}

func (h *lease) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.loseLocked()
	}
}

func (h *lease) loseLocked() {
	h.over = true
	h.stopLocked()
	h.cancel()
	close(h.lost)
}

func (h *lease) stopLocked() {
	if h.timer != nil { // else it was over from the first
		h.timer.Stop()
	}
}

// wake has the hold looked after from its first renewal on. Until then nobody is there: most holds are over before, and
// a goroutine would have to be ended on the way of each release.
func (h *lease) wake(at time.Time, lookAfter func()) {
	h.first = time.AfterFunc(time.Until(at), lookAfter)
}

// end stops the renewal and returns when none is under way.
func (h *lease) end() {
	h.mu.Lock()
	h.over = true
	h.stopLocked()
	h.mu.Unlock()
	h.cancel()
	if h.first == nil || !h.first.Stop() {
		<-h.done
	}
}

// lookAfter renews a hold a third into each lease, and soon again where nobody answered. It returns when the hold is
// over, after forget, which takes back what is kept of it. What renew was not told of by the end of the lease it gives
// up on; ErrNotHeld is its definite answer. A renewal that the end of the hold cut off is told as well: the store may have
// taken it, and the hold with it lasts longer than anybody else knows.
func (h *lease) lookAfter(env Env, next time.Time, renew func(context.Context) error, forget func()) {
	defer close(h.done)
	for h.pauseUntil(next) {
		sent, err := h.renew(renew)
		g := h.grant
		g.Validity = h.ttl
		env.renewed(g, sent.Sub(h.start), err)
		switch {
		case err == nil:
			h.confirm(sent, h.ttl)
			next = sent.Add(h.ttl / 3)
		case errors.Is(err, ErrNotHeld):
			h.lose()
		default:
			next = time.Now().Add(max(h.ttl/30, time.Millisecond))
		}
	}
	h.cancel()
	forget()
}

// pauseUntil is false where the hold is over before.
func (h *lease) pauseUntil(t time.Time) bool {
	if !time.Now().Before(t) {
		return h.ctx.Err() == nil // a timer of no time at all would come in any order with others in virtual time
	}
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return h.ctx.Err() == nil
	case <-h.ctx.Done():
		return false
	}
}

// renew asks once, and not beyond the end of what it is to prolong.
func (h *lease) renew(ask func(context.Context) error) (sent time.Time, err error) {
	h.mu.Lock()
	until := h.until
	h.mu.Unlock()
	ctx, cancel := context.WithDeadline(h.ctx, until)
	defer cancel()
	sent = time.Now()
	if err = ask(ctx); err != nil && ctx.Err() != nil && !errors.Is(err, ErrNotHeld) {
		err = errUnanswered // which of the two ends was first is chance where both are due
	}
	return sent, err
}

var errUnanswered = errors.New("not answered before the lease was over or its hold given up")
