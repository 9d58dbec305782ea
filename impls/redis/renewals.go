package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockbench/impls/waiting"
)

// renewals are the goroutines of a lock that extend its leases, each with a name. One is ended by stop, by its own extend,
// or with all others by closeAll.
type renewals struct {
	mu     sync.Mutex
	named  map[string]*renewal
	all    sync.WaitGroup
	closed bool
}

type renewal struct {
	told  chan struct{} // closed: it is to end
	ended chan struct{} // closed: it has
}

func newRenewals() *renewals { return &renewals{named: map[string]*renewal{}} }

// start calls extend once per period until it returns false or is stopped. It replaces another of this name.
func (r *renewals) start(name string, every time.Duration, extend func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(name)
	if r.closed {
		return
	}
	n := &renewal{make(chan struct{}), make(chan struct{})}
	r.named[name] = n
	r.all.Go(func() {
		defer close(n.ended)
		n.run(every, extend)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.named[name] == n {
			delete(r.named, name)
		}
	})
}

func (n *renewal) run(every time.Duration, extend func() bool) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-n.told:
			return
		}
		if !extend() {
			return
		}
		timer.Reset(every)
	}
}

// tell has the one of this name end, and returns it; nil: there is none. The mutex is held.
func (r *renewals) tell(name string) *renewal {
	n := r.named[name]
	if n != nil {
		delete(r.named, name)
		close(n.told)
	}
	return n
}

// stop ends the one of this name and waits until it sends nothing any more. The error is the context's.
func (r *renewals) stop(ctx context.Context, name string) error {
	r.mu.Lock()
	n := r.tell(name)
	r.mu.Unlock()
	if n == nil {
		return nil
	}
	select {
	case <-n.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeAll tells all to end, and lets none start any more.
func (r *renewals) closeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for name := range r.named {
		r.tell(name)
	}
}

// wait waits, after closeAll, until all have ended.
func (r *renewals) wait() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.all.Wait()
	}()
	return endedSoon(ended, "a goroutine of the lock did not end")
}

// endedSoon waits for a lock's goroutines when the lock is closed. Their connections are closed by then.
func endedSoon(ended <-chan struct{}, late string) error {
	timer := time.NewTimer(waiting.CloseTimeout)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return errors.New(late)
	}
}
