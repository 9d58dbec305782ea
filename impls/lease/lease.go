// Package lease implements holds that expire. Lease is a hold that the client renews. Sessions manages holds that end with
// a session at the server.
package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// Lease is a hold that is renewed until its release. The hold is lost when a renewal is refused, or when the last confirmed
// lease expires by this process's clock.
type Lease struct {
	Grant impls.Grant
	TTL   time.Duration
	Lost  chan struct{}
	Depth int // number of nested holds; guarded by the mutex of the lock that uses the Lease

	start time.Time       // time at which Acquire was called
	life  context.Context // of the renewals
	first *time.Timer     // timer that starts the renewal goroutine; nil if the goroutine starts with the hold
	done  chan struct{}   // closed when no more renewals are sent

	mu    sync.Mutex // guards the fields below; never held across a command
	until time.Time  // end of the last confirmed lease, minus the allowance for clock drift
	// The fields below are nil until the renewal goroutine starts. Most holds end before, and the lease does not end earlier.
	ctx    context.Context
	cancel context.CancelFunc
	timer  *time.Timer // reports the loss of the hold when the lease ends
	over   bool        // whether the hold was lost or released
	left   bool        // whether the renewal goroutine ended before a release or a loss
}

// New returns a Lease. The parameter life is the context of its renewals, which stop when this context ends. The parameter
// start is the time at which Acquire was called.
func New(life context.Context, g impls.Grant, ttl time.Duration, start time.Time) *Lease {
	return &Lease{Grant: g, TTL: ttl, start: start, life: life, Lost: make(chan struct{}), done: make(chan struct{})}
}

// Confirm extends the lease after a grant or a renewal. The parameter sent is the time of the request. The parameter
// lasts is the duration that the store granted. Confirm returns false if the hold has already ended.
func (h *Lease) Confirm(sent time.Time, lasts time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	until := sent.Add(lasts - min(Drift(h.TTL), lasts/2))
	if until.Before(h.until) {
		return true
	}
	h.until = until
	switch left := time.Until(until); {
	case left <= 0: // the lease expired before Confirm was called
		h.loseLocked()
	case h.timer != nil:
		h.timer.Reset(left)
	}
	return true
}

// begin prepares for renewals.
func (h *Lease) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx, h.cancel = context.WithCancel(h.life)
	if h.over {
		h.cancel()
		return
	}
	h.timer = time.AfterFunc(time.Until(h.until), h.expire)
}

// expire marks the hold as lost. The timer may fire late, so expire does nothing if the lease has been extended.
func (h *Lease) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !time.Now().Before(h.until) {
		h.loseLocked()
	}
}

func (h *Lease) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loseLocked()
}

func (h *Lease) loseLocked() {
	if h.over {
		return
	}
	h.over = true
	h.stopLocked()
	close(h.Lost)
}

func (h *Lease) stopLocked() {
	if h.timer != nil {
		h.timer.Stop()
	}
	if h.cancel != nil {
		h.cancel()
	}
}

// Wake calls the function lookAfter in a new goroutine at the given time, unless End is called first. The function must call
// h.LookAfter, which renews the hold. Most holds are released before that time, and need no goroutine.
func (h *Lease) Wake(at time.Time, lookAfter func()) {
	h.first = time.AfterFunc(time.Until(at), lookAfter)
}

// End stops the renewals, and waits for a renewal in flight. It returns false if the hold had already ended.
func (h *Lease) End() bool {
	h.mu.Lock()
	held := !h.over && !h.left
	h.over = true
	h.stopLocked()
	h.mu.Unlock()
	if h.first == nil || !h.first.Stop() {
		<-h.done
	}
	return held
}

// ExpiredBy reports whether the last confirmed lease has expired at time t.
func (h *Lease) ExpiredBy(t time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !t.Before(h.until)
}

// LookAfter renews a hold after every third of the lease until the hold ends. If a renewal gets no answer, LookAfter soon
// tries again. If the end of the hold cancels a renewal, the renewal is reported, because the store may have executed it.
func (h *Lease) LookAfter(env impls.Env, next time.Time, renew func(context.Context) error) {
	defer close(h.done)
	h.begin()
	for {
		if time.Now().Before(next) { // in virtual time, a timer of duration 0 fires in a random order among other timers
			waiting.Pause(h.ctx, time.Until(next))
		}
		if h.ctx.Err() != nil {
			break
		}
		sent, err := h.renew(renew)
		g := h.Grant
		g.Validity = h.TTL
		env.ReportRenewal(g, sent.Sub(h.start), err)
		switch {
		case err == nil:
			h.Confirm(sent, h.TTL)
			next = sent.Add(h.TTL / 3)
		case errors.Is(err, impls.ErrNotHeld):
			h.lose()
		default:
			next = time.Now().Add(max(h.TTL/30, time.Millisecond))
		}
	}
	h.cancel()
}

func (h *Lease) renew(ask func(context.Context) error) (sent time.Time, err error) {
	h.mu.Lock()
	until := h.until
	h.mu.Unlock()
	ctx, cancel := context.WithDeadline(h.ctx, until)
	defer cancel()
	sent = time.Now()
	if err = ask(ctx); err != nil && ctx.Err() != nil && !errors.Is(err, impls.ErrNotHeld) {
		err = errUnanswered // when ctx ends, the function ask may return any of several errors at random; return a fixed error instead
	}
	return sent, err
}

var errUnanswered = errors.New("no answer before the lease expired or the hold was released")

// Drift returns the part of a lease that is reserved for clock drift. It includes 2 ms, because servers round times to
// milliseconds.
func Drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// heartbeat pings a session during a hold. The session has no lease, so only a ping can detect that the session has ended.
type heartbeat struct {
	ping     func(context.Context) error
	period   time.Duration
	life     context.Context // context of the pings
	cut      context.CancelFunc
	lost     chan struct{} // closed when the session has ended or may have ended
	released chan struct{}
	done     chan struct{} // closed when run has returned
	intact   bool          // whether the pings ended because the hold was released
}

// run pings three times in each period. If a ping fails, or is unanswered for two thirds of a period, the hold is lost. The
// session then stays open until the release, for at most one more period. This gives the holder time to notice the loss
// before the next client is granted.
func (h *heartbeat) run() bool {
	defer close(h.done)
	defer h.cut()
	tick := time.NewTicker(h.period / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.released:
			h.intact = true
			return false
		case <-h.life.Done():
			return true
		}
		ctx, cancel := context.WithTimeout(h.life, h.period*2/3)
		err := h.ping(ctx)
		cancel()
		if err != nil {
			close(h.lost)
			select {
			case <-time.After(h.period):
			case <-h.released:
			case <-h.life.Done():
			}
			return true
		}
	}
}

// release stops the pings and waits for a ping in flight. A cancelled ping would end the session, so release cancels it
// only when ctx ends.
func (h *heartbeat) release(ctx context.Context) bool {
	close(h.released)
	defer context.AfterFunc(ctx, h.cut)()
	<-h.done
	return h.intact
}
