package sim

import (
	"context"
	"sync"
	"sync/atomic"
)

// place is a process or a server, as far as it can stand still.
type place struct {
	stands atomic.Bool // it stands still: each message asks

	mu     sync.Mutex
	goesOn chan struct{} // closed when it goes on; nil: it runs
}

func (p *place) still() bool { return p.stands.Load() }

func (p *place) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.goesOn == nil {
		p.goesOn = make(chan struct{})
		p.stands.Store(true)
	}
}

// start has it go on; false where it runs.
func (p *place) start() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.goesOn == nil {
		return false
	}
	p.stands.Store(false)
	close(p.goesOn)
	p.goesOn = nil
	return true
}

// await returns when it runs; the error is the context's.
func (p *place) await(ctx context.Context) error {
	for {
		p.mu.Lock()
		goesOn := p.goesOn
		p.mu.Unlock()
		if goesOn == nil {
			return nil
		}
		select {
		case <-goesOn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
