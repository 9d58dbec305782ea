package sql

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/impls/lease"
	"lockbench/impls/waiting"
)

// session is a connection to a database that may hold one lock.
type session interface {
	lease.Session
	// id identifies the session among the server's current sessions.
	id() string
	// take requests the named lock and waits at the server. It returns false if another session held the lock during the
	// whole wait.
	take(ctx context.Context, name string, wait time.Duration) (bool, error)
	// give releases the named lock. It returns false if the session does not hold this lock.
	give(ctx context.Context, name string) (bool, error)
	ping(ctx context.Context) error
}

type unleased struct{}

func (unleased) Alive(context.Context) bool { return true }
func (unleased) TTL() time.Duration         { return 0 }

// The constant slice is the maximum duration of one wait at the server. A longer wait is split into several requests.
// The server therefore answers soon after the caller's timeout, so the result is known.
const slice = 200 * time.Millisecond

// minPeriod is the minimum period between answered pings of a session. It applies if the request has no TTL or a short one.
const minPeriod = 100 * time.Millisecond

// sessionLock is a lock bound to a session. When the session ends, the server frees the lock.
//
// sessionLock does not implement Prober: the server knows the session that holds a name, but not the grant.
type sessionLock struct {
	*lease.Sessions[session]
	grants atomic.Int64
}

// errSessionLost is indeterminate: the client has lost its session, but the session may still exist at the server.
var errSessionLost = errors.New("the session that held the lock has ended, or does not answer")

func newSessionLock(env impls.Env, open func(context.Context) (session, error)) *sessionLock {
	return &sessionLock{Sessions: lease.NewSessions(env, func(ctx context.Context, _ time.Duration) (session, error) { return open(ctx) })}
}

func (l *sessionLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	start := time.Now()
	ctx, giveUp := waiting.Limit(ctx, req.Wait)
	defer giveUp()
	opening, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	s, err := l.Take(opening, 0)
	cancel()
	if err != nil {
		return impls.Hold{}, fmt.Errorf("open a session: %w", err)
	}
	for {
		wait := nextWait(ctx, req)
		sent := time.Now()
		granted, err := ask(ctx, wait, func(ctx context.Context) (bool, error) { return s.take(ctx, l.Env.Prefix+req.Key, wait) })
		if granted {
			g := impls.Grant{Key: req.Key, Owner: req.Owner, Token: fmt.Sprintf("%s.%d", s.id(), l.grants.Add(1)), SentAfter: sent.Sub(start)}
			var hold impls.Hold
			if hold, err = l.KeepOpen(s, g, max(req.TTL, minPeriod), s.ping); err == nil {
				return hold, nil
			}
		}
		switch {
		case err == nil && l.Life.Err() != nil:
			err = impls.ErrClosed
		case err == nil && nextWait(ctx, req) == 0:
			l.Put(s)
			return impls.Hold{}, impls.ErrBusy
		}
		if err != nil { // the request may have acquired the lock, or may still acquire it
			l.Drop(s)
			return impls.Hold{}, err
		}
	}
}

func nextWait(ctx context.Context, req impls.Request) time.Duration {
	end, ends := ctx.Deadline()
	switch {
	case req.Wait == 0 || ctx.Err() != nil:
		return 0
	case ends:
		return max(min(slice, time.Until(end)), 0)
	}
	return slice
}

// ask sends a request. The server may wait for the given duration before it answers (parameter wait). If ctx ends first,
// ask still waits for the answer, for at most that duration plus AnswerGrace.
func ask(ctx context.Context, wait time.Duration, do func(context.Context) (bool, error)) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err // the request was not sent, because ctx had already ended
	}
	asking, cancel := waiting.Detached(ctx, wait+waiting.CommandTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		waiting.Pause(asking, wait+waiting.AnswerGrace)
		cancel()
	})()
	return do(asking)
}

// Release frees the lock. It returns the session to the pool only if the session certainly holds no lock.
func (l *sessionLock) Release(ctx context.Context, g impls.Grant) error {
	s, known, intact := l.LetGo(ctx, g.Token)
	switch {
	case !known:
		return impls.ErrNotHeld // this process has no session for this grant
	case !intact:
		return errSessionLost
	}
	freed, err := ask(ctx, 0, func(ctx context.Context) (bool, error) { return s.give(ctx, l.Env.Prefix+g.Key) })
	if err == nil && freed {
		l.Put(s)
		return nil
	}
	l.Drop(s) // the state of the session is unknown
	if err == nil {
		err = impls.ErrNotHeld
	}
	return err
}
