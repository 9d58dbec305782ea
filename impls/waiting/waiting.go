// Package waiting helps locks to wait. Polling repeats a request until a grant. Timeouts returns the contexts of one
// acquire. Group tracks background goroutines.
package waiting

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"lockbench/impls"
)

const (
	// CommandTimeout bounds a command whose context has no earlier deadline. After a timeout, the outcome of the
	// command is unknown. The timeout is therefore so long that it rarely expires, even on a slow machine.
	CommandTimeout = 5 * time.Second
	// AnswerGrace is the extra time for a reply after a waiter's timeout. Without it, a command in flight would be
	// cancelled and indeterminate.
	AnswerGrace = 50 * time.Millisecond
	// WithdrawTimeout bounds the clean-up of an abandoned acquire.
	WithdrawTimeout = time.Second
	// CloseTimeout bounds how long Close waits for a lock's goroutines after their connections were closed.
	CloseTimeout = 2 * time.Second
	// FirstPause and LongestPause bound the delays between two attempts.
	FirstPause   = time.Millisecond
	LongestPause = 50 * time.Millisecond
)

// Limit returns a copy of ctx that ends after the given timeout (parameter wait). If the timeout is not positive, Limit
// returns ctx itself.
func Limit(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, wait)
}

// Timeouts returns two contexts for an acquire. The first context ends when the timeout of the acquire expires. The second ends
// AnswerGrace later, so that the reply to a command in flight is still read.
func Timeouts(ctx context.Context, wait time.Duration) (patient, limit context.Context, done func()) {
	if wait <= 0 {
		return ctx, ctx, func() {}
	}
	patient, giveUp := context.WithTimeout(ctx, wait)
	limit, cancel := context.WithTimeout(ctx, wait+AnswerGrace)
	return patient, limit, func() { giveUp(); cancel() }
}

// Detached returns a context for clean-up. The context does not end with ctx, but after the timeout.
func Detached(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}

// Polling acquires a lock by repeated requests, without notifications.
//
// The parameter "wait" selects the delay between two requests. "spin" means no delay, as in articles. "backoff" means a
// random delay that doubles with each refusal, from FirstPause to LongestPause.
type Polling struct {
	Spin  bool
	rand  *rand.Rand
	tally *impls.Tally
}

// NewPolling returns a Polling, which acquires a lock by repeated requests. The parameter "wait" in env selects the delay
// between them.
func NewPolling(env impls.Env) Polling {
	return Polling{Spin: env.Params["wait"] != "backoff", rand: env.Rand, tally: env.Tally}
}

// Poll calls attempt until the lock is granted, the request's wait has passed, or the context ends. It returns ErrBusy if
// the last answer was a refusal. If the context ends during an attempt, Poll returns the attempt's indeterminate error.
func (p Polling) Poll(ctx context.Context, req impls.Request, attempt func(context.Context) (impls.Grant, error)) (impls.Hold, error) {
	start := time.Now()
	patient, ctx, done := Timeouts(ctx, req.Wait)
	defer done()
	for n := 0; ; n++ {
		sent := time.Since(start)
		p.tally.Attempt()
		grant, err := attempt(ctx)
		if err == nil {
			grant.Key, grant.Owner, grant.SentAfter = req.Key, req.Owner, sent
			return impls.Hold{Grant: grant}, nil
		}
		if !errors.Is(err, impls.ErrBusy) || req.Wait == 0 {
			return impls.Hold{}, err
		}
		if d := BackOff(n); !p.Spin {
			Pause(patient, d/2+time.Duration(p.rand.Int64N(int64(d/2)+1)))
		}
		if patient.Err() != nil {
			return impls.Hold{}, err
		}
	}
}

// BackOff returns the longest delay after the nth refusal. The delay doubles from FirstPause to LongestPause.
func BackOff(n int) time.Duration { return min(FirstPause<<min(n, 16), LongestPause) }

// Over reports whether a channel is closed. No values may be sent on the channel.
func Over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Pause waits for d or for the end of the context. It returns false if the context has ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Group tracks the background work of a lock. In contrast to a sync.WaitGroup, work may begin during Close. Close does not
// wait for such work.
type Group struct {
	mu     sync.Mutex // guards the field closed and the calls of WaitGroup.Add; not locked while background work runs
	closed bool
	all    sync.WaitGroup
}

// Go calls the function work in a new goroutine.
func (g *Group) Go(work func()) {
	if !g.begin() {
		go work()
		return
	}
	go func() {
		defer g.all.Done()
		work()
	}()
}

// Do calls the given function in the caller's goroutine. Close waits for the call if it began before Close.
func (g *Group) Do(work func()) {
	if g.begin() {
		defer g.all.Done()
	}
	work()
}

func (g *Group) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.all.Add(1)
	return true
}

// Close waits for all work that has begun.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.all.Wait()
}
