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
	running sync.WaitGroup

	mu     sync.Mutex // guards what follows; never held across a command
	held   map[string]hold[S]
	closed bool // no goroutine is started any more
}

// hold is a session that holds a grant, and what looks after it.
type hold[S Session] struct {
	keeper
	session S
}

// keeper looks after a hold.
type keeper interface {
	// run returns when the hold is over. It reports whether that was by no release, so that nobody else drops the session.
	run() bool
	// release ends run, and reports false if the hold was over before.
	release(context.Context) bool
}

var (
	_ keeper = (*leaseKeeper)(nil)
	_ keeper = (*heartbeat)(nil)
)

// NewSessions returns a lock without holds, whose sessions are opened by open.
func NewSessions[S Session](env impls.Env, open func(context.Context, time.Duration) (S, error)) *Sessions[S] {
	l := &Sessions[S]{Env: env, held: map[string]hold[S]{}}
	l.Pool.Open, l.Pool.Drop = open, l.drop
	l.Life, l.abandon = context.WithCancel(context.Background())
	return l
}

// drop ends a session, and waits for that only if the lock is closed.
func (l *Sessions[S]) drop(s S) {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.running.Go(s.End)
	}
	l.mu.Unlock()
	if closed {
		s.End()
	}
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

// Close abandons every hold, and ends every session.
func (l *Sessions[S]) Close() error {
	l.Pool.Close()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.abandon()
	l.running.Wait()
	return nil
}
