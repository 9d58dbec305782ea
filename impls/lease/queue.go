package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

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
	if err = place.Await(ctx, patient); errors.Is(err, impls.ErrBusy) {
		return impls.Hold{}, l.withdraw(ctx, s, place.Leave)
	}
	var g impls.Grant
	var r Renewal
	if err == nil {
		g, r, err = place.Grant(ctx)
	}
	if err == nil {
		var hold impls.Hold
		r.Start = start
		if hold, err = l.Keep(s, g, r); err == nil {
			return hold, nil
		}
	}
	l.Drop(s)
	return impls.Hold{}, err
}

// withdraw takes back what was asked for in a session, even if the caller's context is over. It returns ErrBusy if nothing
// is left of it.
func (l *Sessions[S]) withdraw(ctx context.Context, s S, undo func(context.Context) error) error {
	ctx, cancel := waiting.Detached(ctx, waiting.WithdrawTimeout)
	defer cancel()
	if err := l.settle(s, undo(ctx)); err != nil && !errors.Is(err, impls.ErrNotHeld) {
		return fmt.Errorf("gave up waiting, and may be in the queue: %w", err)
	}
	return impls.ErrBusy
}
