package lease

import (
	"context"
	"sync"
	"time"
)

// Session is what a server binds a lock to, and frees it with.
type Session interface {
	// Alive reports whether a session that was just opened, or was idle, can be used.
	Alive(context.Context) bool
	// TTL returns the lease that the session was opened for; 0 if it has none.
	TTL() time.Duration
	// End has the server free what the session holds, if it hears of it, and returns within a bound.
	End()
}

// Pool keeps the idle sessions of a lock by the lease that they were opened for. A session serves one hold at a time, and is
// dropped if anything of it is uncertain: what it may hold goes with it.
type Pool[S Session] struct {
	Open func(context.Context, time.Duration) (S, error)
	Drop func(S) // ends a session

	mu     sync.Mutex // guards what follows; never held across a command
	idle   map[time.Duration][]S
	closed bool
}

// Take returns a session that is alive: an idle one, or a new one.
func (p *Pool[S]) Take(ctx context.Context, ttl time.Duration) (S, error) {
	for {
		s, ok := p.pop(ttl)
		if !ok {
			var err error
			if s, err = p.Open(ctx, ttl); err != nil {
				return s, err
			}
		}
		if s.Alive(ctx) {
			return s, nil
		}
		p.Drop(s)
		if err := ctx.Err(); err != nil {
			return s, err
		}
	}
}

func (p *Pool[S]) pop(ttl time.Duration) (s S, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.idle[ttl]
	if len(of) == 0 {
		return s, false
	}
	p.idle[ttl] = of[:len(of)-1]
	return of[len(of)-1], true
}

// Put takes back a session that is known to hold nothing.
func (p *Pool[S]) Put(s S) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		if p.idle == nil {
			p.idle = map[time.Duration][]S{}
		}
		p.idle[s.TTL()] = append(p.idle[s.TTL()], s)
	}
	p.mu.Unlock()
	if closed {
		p.Drop(s)
	}
}

// Close drops the idle sessions. Those that were taken are for their takers to drop or to put back.
func (p *Pool[S]) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, of := range idle {
		for _, s := range of {
			p.Drop(s)
		}
	}
}
