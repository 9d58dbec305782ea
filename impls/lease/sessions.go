package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// Sessions are the holds of a lock, each bound to a session. A hold is kept until it is released or lost; the session of a
// lost hold is dropped.
type Sessions[S Session] struct {
	Pool[S]
	Env  impls.Env
	Life context.Context // of every hold and every waiter: over when the lock is closed

	abandon context.CancelFunc
	running waiting.Group

	mu   sync.Mutex // guards what follows, and the end of Life; never held across a command
	held map[string]hold[S]
}

// hold is a session that holds a grant.
type hold[S Session] struct {
	session S
	release func(context.Context) bool // ends the look after it; false: it was over before
}

// NewSessions returns a lock without holds, whose sessions are opened by open.
func NewSessions[S Session](env impls.Env, open func(context.Context, time.Duration) (S, error)) *Sessions[S] {
	l := &Sessions[S]{Env: env, held: map[string]hold[S]{}}
	l.Pool.Open, l.Pool.Drop = open, l.drop
	l.Life, l.abandon = context.WithCancel(context.Background())
	return l
}

// drop ends a session, and waits for that only if the lock is closed.
func (l *Sessions[S]) drop(s S) {
	if l.Life.Err() != nil {
		s.End()
		return
	}
	l.running.Go(s.End)
}

// LetGo stops keeping a hold and returns its session. It reports whether this process had that hold, and whether it was still
// intact: the session of a lost one is dropped.
func (l *Sessions[S]) LetGo(ctx context.Context, token string) (s S, known, intact bool) {
	l.mu.Lock()
	h, known := l.held[token]
	delete(l.held, token)
	l.mu.Unlock()
	if !known {
		return s, false, false
	}
	return h.session, true, h.release(ctx)
}

// ReleaseBy releases a hold by a command in its session, or in another if this process no longer has that hold. The command
// returns ErrNotHeld if nothing of the hold is left.
func (l *Sessions[S]) ReleaseBy(ctx context.Context, g impls.Grant, command func(context.Context, S) error) error {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	if s, _, intact := l.LetGo(ctx, g.Token); intact {
		return l.settle(s, command(ctx, s))
	}
	return l.Ask(ctx, command)
}

// Ask has an idle session run a command that leaves nothing in it. ErrNotHeld is an answer.
func (l *Sessions[S]) Ask(ctx context.Context, command func(context.Context, S) error) error {
	s, err := l.Take(ctx, anyLease)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	return l.settle(s, command(ctx, s))
}

// anyLease is the lease of a session that is opened to hold nothing.
const anyLease = 5 * time.Second

// settle puts a session back if it is known to hold nothing.
func (l *Sessions[S]) settle(s S, err error) error {
	if err != nil && !errors.Is(err, impls.ErrNotHeld) {
		l.Drop(s)
		return err
	}
	l.Put(s)
	return err
}

// Renewal is how the lease of a session is prolonged.
type Renewal struct {
	Start, Sent time.Time     // of the acquire, and of the request that the lease counts from
	Lasts       time.Duration // as granted by the server
	Renew       func(context.Context) error
	Gone        <-chan struct{} // closed when the server has ended the session; nil: only Renew finds out
}

// Keep makes a grant a hold that lasts as long as the lease of its session, which is renewed.
func (l *Sessions[S]) Keep(s S, g impls.Grant, r Renewal) (impls.Hold, error) {
	g.SentAfter, g.Validity = r.Sent.Sub(r.Start), r.Lasts
	h := New(l.Life, g, r.Lasts, r.Start)
	h.Confirm(r.Sent, r.Lasts)
	run := func() bool {
		h.LookAfter(l.Env, r.Sent.Add(r.Lasts/3), r.Renew)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.left = !h.over
		return h.left || waiting.Over(h.Lost) // else it was ended
	}
	watch := func() {
		select {
		case <-r.Gone:
			h.lose()
		case <-h.ctx.Done():
		}
	}
	return l.keep(s, g, h.Lost, func(context.Context) bool { return h.End() }, run, watch)
}

// KeepOpen makes a grant a hold that lasts as long as its session, which is pinged three times in each period.
func (l *Sessions[S]) KeepOpen(s S, g impls.Grant, period time.Duration, ping func(context.Context) error) (impls.Hold, error) {
	g.Validity = impls.Unbounded
	h := &heartbeat{ping: ping, period: period, lost: make(chan struct{}), released: make(chan struct{}), done: make(chan struct{})}
	h.life, h.cut = context.WithCancel(l.Life)
	return l.keep(s, g, h.lost, h.release, h.run)
}

// keep starts the goroutines that look after a hold. The session is dropped if run reports that it was not released.
func (l *Sessions[S]) keep(s S, g impls.Grant, lost <-chan struct{}, release func(context.Context) bool, run func() bool, also ...func()) (impls.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Life.Err() != nil {
		return impls.Hold{}, impls.ErrClosed
	}
	l.held[g.Token] = hold[S]{s, release}
	l.running.Go(func() {
		if run() {
			l.drop(s)
		}
	})
	for _, f := range also {
		l.running.Go(f)
	}
	return impls.Hold{Grant: g, Lost: lost}, nil
}

// Close abandons every hold, and ends every session.
func (l *Sessions[S]) Close() error {
	l.Pool.Close()
	l.mu.Lock()
	l.abandon()
	l.mu.Unlock()
	l.running.Close()
	return nil
}

// Session binds a lock at a server, which frees the lock when the session ends.
type Session interface {
	// Alive reports whether a session that was just opened, or was idle, can be used.
	Alive(context.Context) bool
	// TTL returns the lease that the session was opened for; 0 if it has none.
	TTL() time.Duration
	// End has the server free what the session holds, if it hears of it, and returns within a bound.
	End()
}

// Pool keeps the idle sessions of a lock by the lease that they were opened for. A session serves one hold at a time, and is
// dropped if anything about it is uncertain, so that the server frees what it may hold.
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
		var s S
		p.mu.Lock()
		n := len(p.idle[ttl])
		if n > 0 {
			s, p.idle[ttl] = p.idle[ttl][n-1], p.idle[ttl][:n-1]
		}
		p.mu.Unlock()
		if n == 0 {
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

// Close drops the idle sessions. Sessions in use are put back or dropped by their users.
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

// ErrOutOfQueue is the error of a waiter that is no longer in its queue, for instance because its session was ended.
var ErrOutOfQueue = errors.New("what was in the queue is gone from it")

// Place is the place of a session in the queue for a key, whose first holds the key.
type Place interface {
	// Await returns when the place is the first of its queue, and ErrBusy if it is not when patient is over.
	Await(ctx, patient context.Context) error
	// Leave gives the place up. ErrNotHeld: it is gone already.
	Leave(context.Context) error
	// Grant returns what the first of the queue is granted, and how the lease of its session is renewed.
	Grant(context.Context) (impls.Grant, Renewal, error)
}

// Queue acquires with a session that enters the queue of the request's key.
func (l *Sessions[S]) Queue(ctx context.Context, req impls.Request, enter func(context.Context, S) (Place, error)) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	start := time.Now()
	patient, ctx, done := waiting.Patience(ctx, req.Wait)
	defer done()
	s, err := l.Take(ctx, req.TTL)
	if err != nil {
		return impls.Hold{}, fmt.Errorf("open a session: %w", err)
	}
	l.Env.Tally.Attempt()
	place, err := enter(ctx, s)
	if err != nil {
		l.Drop(s)
		return impls.Hold{}, fmt.Errorf("enter the queue: %w", err)
	}
	hold, err := l.await(ctx, patient, s, place, start)
	switch {
	case errors.Is(err, impls.ErrBusy): // withdraw, even if the caller's context is over
		ctx, cancel := waiting.Detached(ctx, waiting.WithdrawTimeout)
		defer cancel()
		if left := l.settle(s, place.Leave(ctx)); left != nil && !errors.Is(left, impls.ErrNotHeld) {
			err = fmt.Errorf("gave up waiting, and may be in the queue: %w", left)
		}
	case err != nil:
		l.Drop(s)
	}
	return hold, err
}

// await returns when the place is granted the key, and keeps that.
func (l *Sessions[S]) await(ctx, patient context.Context, s S, p Place, start time.Time) (impls.Hold, error) {
	if err := p.Await(ctx, patient); err != nil {
		return impls.Hold{}, err
	}
	g, r, err := p.Grant(ctx)
	if err != nil {
		return impls.Hold{}, err
	}
	r.Start = start
	return l.Keep(s, g, r)
}
