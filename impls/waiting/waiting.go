// Package waiting helps locks to wait: Polling for a grant, Timeouts for an answer, Group for background work.
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
	// CommandTimeout bounds a command whose context does not. It is long, because an abandoned command is indeterminate and
	// a slow machine must not look like a broken lock.
	CommandTimeout = 5 * time.Second
	// AnswerGrace is the time for a command to finish after a waiter's timeout: a cancelled command is indeterminate.
	AnswerGrace = 50 * time.Millisecond
	// WithdrawTimeout bounds the clean-up of an abandoned acquire.
	WithdrawTimeout = time.Second
	// CloseTimeout bounds Close's wait for a lock's goroutines, whose connections are closed by then.
	CloseTimeout = 2 * time.Second
	// FirstPause and LongestPause bound the delays between two attempts.
	FirstPause   = time.Millisecond
	LongestPause = 50 * time.Millisecond
)

// Limit returns a context with a request's wait as its timeout, if the wait is positive.
func Limit(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, wait)
}

// Timeouts returns a context that ends at a waiter's timeout, and one that ends AnswerGrace later, so that the answer to a
// command in flight is still read.
func Timeouts(ctx context.Context, wait time.Duration) (patient, limit context.Context, done func()) {
	if wait <= 0 {
		return ctx, ctx, func() {}
	}
	patient, giveUp := context.WithTimeout(ctx, wait)
	limit, cancel := context.WithTimeout(ctx, wait+AnswerGrace)
	return patient, limit, func() { giveUp(); cancel() }
}

// Detached returns a context for clean-up after the caller's context has ended.
func Detached(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}

// Polling waits for a lock without notification by repeated requests.
//
// The parameter "wait" selects the delay between them: "spin" has none, as in articles; "backoff" has a random delay that
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

// Poll attempts until the lock is granted or the request's wait or the context ends. It returns ErrBusy if the last answer
// was a refusal. If the context ends with a command in flight, it returns the attempt's indeterminate error.
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

// BackOff returns the longest delay after the nth refusal: it doubles from FirstPause to LongestPause.
func BackOff(n int) time.Duration { return min(FirstPause<<min(n, 16), LongestPause) }

// Over reports whether a channel is closed. Values must not be sent on it.
func Over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Pause waits for d and returns true, or returns false when the context ends.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Group tracks the background work of a lock. Unlike with a sync.WaitGroup, work may begin during Close, which then does
// not wait for it.
type Group struct {
	mu     sync.Mutex // held while work begins, but not while it runs
	closed bool
	all    sync.WaitGroup
}

// Go runs work in a new goroutine.
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

// Do runs work in the caller's goroutine.
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
