// Package waiting holds how locks wait: for the lock, for answers, and for clean-up.
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
	// CommandTimeout bounds a command whose context does not. It is generous: a command that is given up is
	// indeterminate, and a slow machine must not look like a broken lock.
	CommandTimeout = 5 * time.Second
	// AnswerGrace is how long a command may still take after a waiter's time is over: one that is cut off is
	// indeterminate.
	AnswerGrace = 50 * time.Millisecond
	// WithdrawTimeout bounds the clean-up of an abandoned acquire.
	WithdrawTimeout = time.Second
	// CloseTimeout bounds how long Close waits for a lock's goroutines, whose connections are closed by then.
	CloseTimeout = 2 * time.Second
	// FirstPause and LongestPause bound the pauses between two attempts.
	FirstPause   = time.Millisecond
	LongestPause = 50 * time.Millisecond
)

// Limit bounds a context by a request's wait, if that is positive.
func Limit(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, wait)
}

// Patience returns a context that ends when a waiter gives up, and one that ends AnswerGrace later, so that the answer to a
// command in flight is still read.
func Patience(ctx context.Context, wait time.Duration) (patient, limit context.Context, done func()) {
	if wait <= 0 {
		return ctx, ctx, func() {}
	}
	patient, giveUp := context.WithTimeout(ctx, wait)
	limit, cancel := context.WithTimeout(ctx, wait+AnswerGrace)
	return patient, limit, func() { giveUp(); cancel() }
}

// Detached bounds clean-up that is done even if the caller's context is over.
func Detached(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}

// Polling waits for a lock without notification by asking again and again.
//
// The parameter "wait" selects how: "spin" asks again at once, as articles do; "backoff" pauses for a random time that
// doubles with each refusal, from FirstPause to LongestPause.
type Polling struct {
	Spin  bool
	rand  *rand.Rand
	tally *impls.Tally
}

// NewPolling returns the polling that the parameters of an Env select.
func NewPolling(env impls.Env) Polling {
	return Polling{Spin: env.Params["wait"] != "backoff", rand: env.Rand, tally: env.Tally}
}

// Poll attempts until the lock is granted, or the request's wait or the context is over. It returns ErrBusy if the last
// answer was a refusal; if the context ends with a command in flight, it returns the attempt's indeterminate error.
func (p Polling) Poll(ctx context.Context, req impls.Request, attempt func(context.Context) (impls.Grant, error)) (impls.Hold, error) {
	start := time.Now()
	patient, ctx, done := Patience(ctx, req.Wait)
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

// BackOff returns the longest pause after the nth refusal: it doubles from FirstPause to LongestPause.
func BackOff(n int) time.Duration { return min(FirstPause<<min(n, 16), LongestPause) }

// Over reports whether a channel that is only ever closed is.
func Over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Pause waits for d, or until the context is over, which it reports as false.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Group is the background work of a lock. Unlike with a sync.WaitGroup, more may begin while it is being closed; that is not
// waited for.
type Group struct {
	mu     sync.Mutex // held while work begins, and not while it goes on
	closed bool
	all    sync.WaitGroup
}

// Go works in a goroutine of its own.
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

// Do works in the caller's goroutine.
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
