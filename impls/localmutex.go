package impls

import (
	"context"
	"sync"
	"time"
)

// localMutex is the lock of a program that was written for one process: synchronized, sync.Mutex. Each
// process has its own, so as many clients are inside as there are processes.
func localMutex() Impl {
	exclusive := expect(Breaks, "each process has a mutex of its own: two processes are two holders",
		"lease-exclusion", "mutual-exclusion", "resource-integrity")
	for i := range exclusive {
		exclusive[i].Processes = 2
	}
	return Impl{
		Name: "local-mutex", Control: true,
		Doc: "a mutex in each process: exclusive in one process only",
		Expect: together(exclusive,
			expect(Holds, "a waiter is woken by the release within its process", "progress")),
		Open: func(Env) (Lock, error) { return &mutexes{of: map[string]chan struct{}{}}, nil },
	}
}

// mutexes are channels of capacity 1, because a sync.Mutex can neither give up waiting nor sleep in
// virtual time.
type mutexes struct {
	mu sync.Mutex
	of map[string]chan struct{}
}

var _ Lock = (*mutexes)(nil)

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

func (m *mutexes) Acquire(ctx context.Context, req Request) (Hold, error) {
	start := time.Now()
	mutex := m.mutex(req.Key)
	hold := func() (Hold, error) {
		return Hold{Grant: Grant{Key: req.Key, Owner: req.Owner, SentAfter: time.Since(start), Validity: Unbounded}}, nil
	}
	select {
	case mutex <- struct{}{}:
		return hold()
	default:
	}
	if req.Wait == 0 {
		return Hold{}, ErrBusy
	}
	if req.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.Wait)
		defer cancel()
	}
	select {
	case mutex <- struct{}{}:
		return hold()
	case <-ctx.Done():
		return Hold{}, ErrBusy
	}
}

func (m *mutexes) Release(_ context.Context, g Grant) error {
	select {
	case <-m.mutex(g.Key):
		return nil
	default:
		return ErrNotHeld
	}
}

func (m *mutexes) Close() error { return nil }
