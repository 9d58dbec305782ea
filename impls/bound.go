package impls

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// session is what a server binds holds to, and gives up with it.
type session interface {
	// alive tells whether a session that was just opened, or waited, is there. One that is not is ended by the caller.
	alive(context.Context) bool
	// lasts is how long the server keeps it after it has heard of it, as granted.
	lasts() time.Duration
	// asked is the lease that it was opened for.
	asked() time.Duration
	// gone is closed when the server is known to have ended it; nil: that is only found out by asking.
	gone() <-chan struct{}
	// end has the server give up what it holds, if it hears of it, and returns within a bound.
	end()
}

// bound are the holds of a lock each of which has a session of its own, which is kept alive while it is held: a hold
// and its session end together.
type bound[S session] struct {
	env  Env
	open func(ctx context.Context, ttl time.Duration) (S, error)

	life    context.Context // of every hold, and of those who wait for one
	abandon context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex                     // guards what follows; never held across a command
	idle   map[time.Duration]*sessions[S] // by the lease that they were opened for
	held   map[string]boundHold[S]        // by token
	ending bool                           // no session waits any more
	closed bool                           // no goroutine is started any more
}

type boundHold[S session] struct {
	*lease
	session S
}

func newBound[S session](env Env, open func(context.Context, time.Duration) (S, error)) *bound[S] {
	b := &bound[S]{env: env, open: open, idle: map[time.Duration]*sessions[S]{}, held: map[string]boundHold[S]{}}
	b.life, b.abandon = context.WithCancel(context.Background())
	return b
}

// of are the sessions that were opened for leases of this length.
func (b *bound[S]) of(ttl time.Duration) *sessions[S] {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.idle[ttl]
	if p == nil {
		p = &sessions[S]{end: b.drop, closed: b.ending, open: func(ctx context.Context) (S, error) { return b.open(ctx, ttl) }}
		b.idle[ttl] = p
	}
	return p
}

// take hands out a session that is alive: one that waited, or a new one.
func (b *bound[S]) take(ctx context.Context, ttl time.Duration) (S, error) {
	for p := b.of(ttl); ; {
		s, err := p.take(ctx)
		if err != nil || s.alive(ctx) {
			return s, err
		}
		b.drop(s)
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
	}
}

// put takes back a session that is known to hold nothing.
func (b *bound[S]) put(s S) { b.of(s.asked()).put(s) }

// drop ends a session, and waits for that only where the lock is closed.
func (b *bound[S]) drop(s S) {
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.running.Go(s.end)
	}
	b.mu.Unlock()
	if closed {
		s.end()
	}
}

// keep makes a grant a hold that is looked after, until it is let go or lost, and its session dropped. What it is
// granted for counts from sent; start is the call of its acquire.
func (b *bound[S]) keep(s S, g Grant, start, sent time.Time, renew func(context.Context) error) (Hold, error) {
	g.SentAfter, g.Validity = sent.Sub(start), s.lasts()
	h := newLease(b.life, g, s.lasts(), start)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return Hold{}, errLockClosed
	}
	h.confirm(sent, g.Validity)
	b.held[g.Token] = boundHold[S]{h, s}
	b.running.Go(func() { h.lookAfter(b.env, sent.Add(g.Validity/3), renew, func() { b.forget(h) }) })
	if gone := s.gone(); gone != nil {
		b.running.Go(func() {
			select {
			case <-gone:
				h.lose()
			case <-h.ctx.Done():
			}
		})
	}
	return Hold{Grant: g, Lost: h.lost}, nil
}

// forget drops a hold that is over and was not let go, with its session: its release finds out from the store.
func (b *bound[S]) forget(h *lease) {
	b.mu.Lock()
	of, mine := b.held[h.grant.Token]
	mine = mine && of.lease == h
	if mine {
		delete(b.held, h.grant.Token)
	}
	b.mu.Unlock()
	if mine {
		b.drop(of.session)
	}
}

// release gives a hold up by what is to be done in its session, or in another where this process has no such hold any
// more. That is to answer ErrNotHeld where nothing of it is left.
func (b *bound[S]) release(ctx context.Context, g Grant, do func(context.Context, S) error) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	s, mine := b.letGo(g.Token)
	if !mine {
		var err error
		if s, err = b.take(ctx, anyLease); err != nil {
			return fmt.Errorf("open a session: %w", err)
		}
	}
	err := do(ctx, s)
	if err != nil && !errors.Is(err, ErrNotHeld) {
		b.drop(s)
		return err
	}
	b.put(s)
	return err
}

// anyLease is what a session is opened for that holds nothing.
const anyLease = 5 * time.Second

// withdraw takes back what was asked for in a session, whatever became of the caller. ErrBusy: it has no effect any more.
func (b *bound[S]) withdraw(ctx context.Context, s S, undo func(context.Context) error) error {
	ctx, cancel := detached(ctx, withdrawWithin)
	defer cancel()
	if err := undo(ctx); err != nil && !errors.Is(err, ErrNotHeld) {
		b.drop(s)
		return fmt.Errorf("gave up waiting, and may be in the queue: %w", err)
	}
	b.put(s)
	return ErrBusy
}

// letGo ends the renewal of a hold and returns its session; ok is false where this process has no such hold.
func (b *bound[S]) letGo(token string) (s S, ok bool) {
	b.mu.Lock()
	h, ok := b.held[token]
	delete(b.held, token)
	b.mu.Unlock()
	if ok {
		h.end()
	}
	return h.session, ok
}

// close abandons every hold, and ends every session.
func (b *bound[S]) close() {
	b.mu.Lock()
	b.ending = true
	pools := slices.Collect(maps.Values(b.idle))
	b.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.abandon()
	b.running.Wait()
}
