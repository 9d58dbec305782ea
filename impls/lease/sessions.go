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

// Sessions manages the holds of a lock. Each hold is bound to one session at the server. When a hold is lost, its session
// is dropped.
type Sessions[S Session] struct {
	Pool[S]
	Env  impls.Env
	Life context.Context // context of every hold and waiter; ends when the lock is closed

	abandon context.CancelFunc
	running waiting.Group

	mu   sync.Mutex // guards the field held and the cancellation of the context Life; not locked while a command runs
	held map[string]hold[S]
}

type hold[S Session] struct {
	session S
	release func(context.Context) bool // stops the renewals or pings; returns false if the hold had already ended
}

// NewSessions returns a Sessions without holds. The argument open opens a session.
func NewSessions[S Session](env impls.Env, open func(context.Context, time.Duration) (S, error)) *Sessions[S] {
	l := &Sessions[S]{Env: env, held: map[string]hold[S]{}}
	l.Pool.Open, l.Pool.Drop = open, l.drop
	l.Life, l.abandon = context.WithCancel(context.Background())
	return l
}

// drop ends a session, in the background unless the lock is closed.
func (l *Sessions[S]) drop(s S) {
	if l.Life.Err() != nil {
		s.End()
		return
	}
	l.running.Go(s.End)
}

// LetGo removes a hold and returns the hold's session. known reports whether this process had the hold. intact is false
// if the hold had already been lost. The session of a lost hold is dropped.
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

// ReleaseBy releases a hold by running the given command in the hold's session. If this process does not have the hold, or
// has lost it, the command runs in another session. The command must return ErrNotHeld if the server has no such hold.
func (l *Sessions[S]) ReleaseBy(ctx context.Context, g impls.Grant, command func(context.Context, S) error) error {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	if s, _, intact := l.LetGo(ctx, g.Token); intact {
		return l.settle(s, command(ctx, s))
	}
	return l.Ask(ctx, command)
}

// Ask runs a command in an idle session. The command must not change the session's state. After an error other than
// ErrNotHeld, the session is dropped.
func (l *Sessions[S]) Ask(ctx context.Context, command func(context.Context, S) error) error {
	s, err := l.Take(ctx, anyLease)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	return l.settle(s, command(ctx, s))
}

// anyLease is the lease that Ask requests for a session. The length does not matter, because Ask runs only one command in
// the session.
const anyLease = 5 * time.Second

// settle returns a session to the pool if err is nil or ErrNotHeld. In these cases, the session holds no lock. After any
// other error, settle drops the session.
func (l *Sessions[S]) settle(s S, err error) error {
	if err != nil && !errors.Is(err, impls.ErrNotHeld) {
		l.Drop(s)
		return err
	}
	l.Put(s)
	return err
}

// Renewal describes how to renew a session's lease.
type Renewal struct {
	Start, Sent time.Time     // Start: the call of Acquire; Sent: the request from which the lease counts
	Lasts       time.Duration // duration of the lease that the server granted
	Renew       func(context.Context) error
	Gone        <-chan struct{} // closed when the server has ended the session; nil: only Renew detects the end
}

// Keep returns a hold for a grant, and renews the lease of its session. The hold lasts as long as the session's lease.
func (l *Sessions[S]) Keep(s S, g impls.Grant, r Renewal) (impls.Hold, error) {
	g.SentAfter, g.Validity = r.Sent.Sub(r.Start), r.Lasts
	h := New(l.Life, g, r.Lasts, r.Start)
	h.Confirm(r.Sent, r.Lasts)
	run := func() bool {
		h.LookAfter(l.Env, r.Sent.Add(r.Lasts/3), r.Renew)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.left = !h.over
		return h.left || waiting.Over(h.Lost) // the result is false if the hold was released
	}
	watch := func() {
		select {
		case <-r.Gone:
			h.lose()
		case <-h.done:
		}
	}
	return l.keep(s, g, h.Lost, func(context.Context) bool { return h.End() }, run, watch)
}

// KeepOpen returns a hold for a grant whose session has no lease. The session is pinged three times in each period. The
// hold lasts as long as the session.
func (l *Sessions[S]) KeepOpen(s S, g impls.Grant, period time.Duration, ping func(context.Context) error) (impls.Hold, error) {
	g.Validity = impls.Unbounded
	h := &heartbeat{ping: ping, period: period, lost: make(chan struct{}), released: make(chan struct{}), done: make(chan struct{})}
	h.life, h.cut = context.WithCancel(l.Life)
	return l.keep(s, g, h.lost, h.release, h.run)
}

// keep records a hold. It starts run and the additional functions (parameter also), each in a new goroutine. If run
// returns true, the hold has ended without a release, so its session is dropped.
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

// Close ends every session, and thereby every hold.
func (l *Sessions[S]) Close() error {
	l.Pool.Close()
	l.mu.Lock()
	l.abandon()
	l.mu.Unlock()
	l.running.Close()
	return nil
}

// Session is a session at a server. When the session ends, the server frees the lock that the session holds.
type Session interface {
	// Alive reports whether the session can be used. The session must not have a hold.
	Alive(context.Context) bool
	// TTL returns the lease requested for the session, or 0 if the store's sessions have no lease.
	TTL() time.Duration
	// End asks the server to end the session, which frees the session's lock. If the server does not answer, End returns
	// after a timeout.
	End()
}

// Pool holds the idle sessions of a lock, grouped by requested lease. A session serves one hold at a time. A session that
// may still hold the lock is dropped, so that the server frees the lock.
type Pool[S Session] struct {
	Open func(context.Context, time.Duration) (S, error)
	Drop func(S) // ends a session

	mu     sync.Mutex // guards the fields below; never held across a command
	idle   map[time.Duration][]S
	closed bool
}

// Take returns an idle session that is alive, or opens a new session.
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

// Put returns a session to the pool. The session must not hold a lock.
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

// Close drops the idle sessions. A session in use is dropped when Put is called.
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

// ErrOutOfQueue means that a waiter is no longer in the queue, for instance because its session has ended.
var ErrOutOfQueue = errors.New("the waiter is no longer in the queue")

// Place is the position of a session in the queue for a key. The session at the first position holds the key.
type Place interface {
	// Await waits until the session is the first in the queue. It returns ErrBusy if the second context (parameter patient)
	// ends first.
	Await(ctx, patient context.Context) error
	// Leave removes the session's entry from the queue. It returns ErrNotHeld if the entry no longer exists.
	Leave(context.Context) error
	// Grant returns the grant of the session, which must be first in the queue. The Renewal describes how to renew the lease
	// of the session.
	Grant(context.Context) (impls.Grant, Renewal, error)
}

// Queue acquires a lock: it takes a session, joins the queue of the key, and waits until the session is first.
func (l *Sessions[S]) Queue(ctx context.Context, req impls.Request, enter func(context.Context, S) (Place, error)) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	start := time.Now()
	patient, ctx, done := waiting.Timeouts(ctx, req.Wait)
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
	case errors.Is(err, impls.ErrBusy): // leave the queue, even if the caller's context has ended
		ctx, cancel := waiting.Detached(ctx, waiting.WithdrawTimeout)
		defer cancel()
		if left := l.settle(s, place.Leave(ctx)); left != nil && !errors.Is(left, impls.ErrNotHeld) {
			err = fmt.Errorf("the wait ended, and the request may still be queued: %w", left)
		}
	case err != nil:
		l.Drop(s)
	}
	return hold, err
}

// await waits until the session is the first in the queue, and then returns a hold.
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
