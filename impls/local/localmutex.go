package local

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// Mutex is a lock for a single process, wrongly used by several: each process has a separate mutex.
func Mutex() impls.Impl {
	return impls.Impl{
		Name: "local-mutex", Control: true,
		Doc: "a mutex in each process: exclusive in one process only",
		Expect: slices.Concat(
			expect.Between(2, expect.Violated("each process has a separate mutex: two processes can both hold", expect.Exclusion...)),
			expect.Holds("a waiter is woken by the release within its process", "progress")),
		Open: func(impls.Env) (impls.Lock, error) { return &mutexes{of: map[string]chan struct{}{}}, nil },
	}
}

// mutexes holds a channel of capacity 1 for each key, used as a mutex. A sync.Mutex has no timeout, and stops virtual time
// while it blocks.
type mutexes struct {
	mu sync.Mutex
	of map[string]chan struct{}
}

func (m *mutexes) mutex(key string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.of[key]
	if !ok {
		c = make(chan struct{}, 1)
		m.of[key] = c
	}
	return c
}

func (m *mutexes) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	start := time.Now()
	mutex := m.mutex(req.Key)
	select {
	case mutex <- struct{}{}:
	default:
		if req.Wait == 0 {
			return impls.Hold{}, impls.ErrBusy
		}
		ctx, cancel := waiting.Limit(ctx, req.Wait)
		defer cancel()
		select {
		case mutex <- struct{}{}:
		case <-ctx.Done():
			return impls.Hold{}, impls.ErrBusy
		}
	}
	return impls.Hold{Grant: impls.Grant{Key: req.Key, Owner: req.Owner, SentAfter: time.Since(start), Validity: impls.Unbounded}}, nil
}

func (m *mutexes) Release(_ context.Context, g impls.Grant) error {
	select {
	case <-m.mutex(g.Key):
		return nil
	default:
		return impls.ErrNotHeld
	}
}

func (m *mutexes) Close() error { return nil }
