package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// Poll acquires a lock that can only be tried. It calls try at the given interval until a grant, or until the request's
// wait or ctx ends. SentAfter is the time of the granted try. Poll tries again only after impls.ErrBusy; any other error
// ends the wait.
func Poll(ctx context.Context, r impls.Request, every time.Duration, try func() (impls.Grant, error)) (impls.Hold, error) {
	call := time.Now()
	for {
		sent := time.Since(call)
		g, err := try()
		if !errors.Is(err, impls.ErrBusy) {
			g.SentAfter = sent
			return impls.Hold{Grant: g}, err
		}
		left := every
		if r.Wait >= 0 {
			left = min(every, r.Wait-time.Since(call))
		}
		if left <= 0 || !waiting.Pause(ctx, left) {
			return impls.Hold{}, err // the last answer was a refusal
		}
	}
}

// Try requests a lock once. It returns a grant with a unique token, and a function that releases the grant. The error
// impls.ErrBusy means that the lock was not granted. If the release returns impls.ErrNotHeld, the client did not hold
// the lock. After any other error, the outcome is unknown.
type Try func(context.Context, impls.Request) (g impls.Grant, release func(context.Context) error, err error)

// Tried returns a lock that uses try. Waiters call try at the given interval.
func Tried(every time.Duration, try Try) impls.Lock {
	return &tried{every: every, try: try, held: map[string]func(context.Context) error{}}
}

type tried struct {
	every time.Duration
	try   Try
	mu    sync.Mutex
	held  map[string]func(context.Context) error // release functions by token; kept after the release, in case the grant is released again
}

func (l *tried) Acquire(ctx context.Context, r impls.Request) (impls.Hold, error) {
	return Poll(ctx, r, l.every, func() (impls.Grant, error) {
		g, release, err := l.try(ctx, r)
		if err == nil {
			g.Key, g.Owner = r.Key, r.Owner
			l.mu.Lock()
			l.held[g.Token] = release
			l.mu.Unlock()
		}
		return g, err
	})
}

func (l *tried) Release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	release := l.held[g.Token]
	l.mu.Unlock()
	if release == nil {
		return impls.ErrNotHeld
	}
	return release(ctx)
}

func (l *tried) Close() error { return nil }
