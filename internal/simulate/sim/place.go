package sim

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// apart is what lies between those who go on one after the other: what one writes leaves before the next comes.
const apart = 2 * time.Nanosecond

// turnstile gives each who comes an instant of its own.
type turnstile struct {
	mu   sync.Mutex
	last time.Time // that was given
}

// next is how long to sleep until the next instant.
func (t *turnstile) next() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.last = t.last.Add(apart); t.last.Before(now) {
		t.last = now
	}
	return t.last.Sub(now)
}

// place is a process or a server, as far as it can stand still.
type place struct {
	stands atomic.Bool // it stands still: each message asks; set with the mutex

	mu    sync.Mutex
	queue []chan struct{} // of those who wait for it to go on, in the order in which they came; closed one by one
}

func (p *place) still() bool { return p.stands.Load() }

func (p *place) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stands.Store(true)
}

// start has it go on; false where it runs. Those who wait do so at an instant each, so that they come in their order.
func (p *place) start() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.still() {
		return false
	}
	p.stands.Store(false)
	queue := p.queue
	p.queue = nil
	go func() {
		for _, next := range queue {
			close(next)
			time.Sleep(apart)
		}
	}()
	return true
}

// await returns when it runs; the error is the context's.
func (p *place) await(ctx context.Context) error {
	for {
		p.mu.Lock()
		if !p.still() {
			p.mu.Unlock()
			return nil
		}
		goesOn := make(chan struct{})
		p.queue = append(p.queue, goesOn)
		p.mu.Unlock()
		select {
		case <-goesOn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
