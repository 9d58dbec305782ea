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

// Sessions are the holds of a lock, each of which is bound to a session of its own. A hold is looked after until it is
// released or lost, and a session whose hold is lost is dropped.
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

// LetGo ends the look after a hold and returns its session. It reports whether this process has had such a hold, and
// whether that was not lost: the session of a lost one is dropped.
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

// ReleaseBy releases a hold by a command in its session, or in another if this process has no such hold any more. The
// command returns ErrNotHeld if nothing of the hold is left.
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
		return h.abandoned()
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
	h := newHeartbeat(l.Life, period, ping)
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
