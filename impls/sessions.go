package impls

import (
	"context"
	"sync"
)

// sessions are what holds are bound to at a server that gives up what a session held when it ends. Each is one
// hold's alone, from before its acquire until after its release, and then waits for the next. One of which
// anything is not known for certain is dropped: what it may hold goes with it.
type sessions[S any] struct {
	open func(context.Context) (S, error)
	end  func(S) // returns soon, also where the server does not answer

	mu     sync.Mutex // guards what follows; never held across a command
	idle   []S
	closed bool
}

// take hands out a session that waits, or a new one.
func (p *sessions[S]) take(ctx context.Context) (S, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	return p.open(ctx)
}

// put takes back a session that is known to hold nothing.
func (p *sessions[S]) put(s S) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if closed {
		p.end(s)
	}
}

// close ends those that wait. Those handed out are for who has them.
func (p *sessions[S]) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, s := range idle {
		p.end(s)
	}
}
