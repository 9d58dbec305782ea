package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockbench/impls/waiting"
)

// renewals are the goroutines of a lock that extend its leases, each with a name. One is ended by stop, by
// its own extend, or with all others by closeAll.
type renewals struct {
	mu     sync.Mutex
	named  map[string]*renewal
	ending map[*renewal]bool // told to end, and under way
	closed bool
}

type renewal struct {
	told  chan struct{} // closed: it is to end
	ended chan struct{} // closed: it has
}

func newRenewals() *renewals {
	return &renewals{named: map[string]*renewal{}, ending: map[*renewal]bool{}}
}

// start calls extend once per period until it returns false or is stopped. It takes the place of another
// of this name.
func (r *renewals) start(name string, every time.Duration, extend func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(name)
	if r.closed {
		return
	}
	n := &renewal{make(chan struct{}), make(chan struct{})}
	r.named[name] = n
	go func() {
		n.run(every, extend)
		r.over(name, n)
		close(n.ended)
	}()
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

// over forgets what has ended.
func (r *renewals) over(name string, n *renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ending, n)
	if r.named[name] == n {
		delete(r.named, name)
	}
}

// tell has the one of this name end; the mutex is held. It returns nil where there is none.
func (r *renewals) tell(name string) *renewal {
	n, ok := r.named[name]
	if !ok {
		return nil
	}
	delete(r.named, name)
	r.ending[n] = true
	close(n.told)
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

// wait waits until all that were told to end have ended.
func (r *renewals) wait() error {
	r.mu.Lock()
	var all []*renewal
	for n := range r.ending {
		all = append(all, n)
	}
	r.mu.Unlock()
	timer := time.NewTimer(waiting.CloseTimeout)
	defer timer.Stop()
	for _, n := range all {
		select {
		case <-n.ended:
		case <-timer.C:
			return errors.New("a goroutine of the lock did not end")
		}
	}
	return nil
}
