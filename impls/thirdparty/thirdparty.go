// Package thirdparty holds locks of other libraries, called as their users call them: at the defaults of the library and its
// client, except for the lease, which is the request's, and the connections, which are the Env's.
package thirdparty

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockbench/impls"
)

// objects are what a library gave out for its holds. The last one of each key that was released is kept, to answer a second
// release.
type objects[T any] struct {
	mu    sync.Mutex
	held  map[string]T        // by token
	spent map[string]spent[T] // by key
}

type spent[T any] struct {
	token  string
	object T
}

func newObjects[T any]() *objects[T] {
	return &objects[T]{held: map[string]T{}, spent: map[string]spent[T]{}}
}

func (o *objects[T]) keep(token string, object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[token] = object
}

// take returns what a grant was, and reports whether this is its first release.
func (o *objects[T]) take(g impls.Grant) (object T, first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if object, first = o.held[g.Token]; first {
		delete(o.held, g.Token)
		o.spent[g.Key] = spent[T]{g.Token, object}
		return object, true, nil
	}
	s := o.spent[g.Key]
	if g.Token == "" || s.token != g.Token {
		err = fmt.Errorf("%w: nothing was granted", impls.ErrNotHeld)
	}
	return s.object, false, err
}

// notHeld adds ErrNotHeld to an error by which a library says so.
func notHeld(err error, said ...error) error {
	if slices.ContainsFunc(said, func(s error) bool { return errors.Is(err, s) }) {
		return fmt.Errorf("%w: %w", impls.ErrNotHeld, err)
	}
	return err
}

// attempt is the context of an acquire: it ends with the caller's context and after its wait, but only until the lock is
// granted, since a library may bind the hold to it.
type attempt struct {
	context.Context
	end   context.CancelFunc
	stop  func() bool
	timer *time.Timer
	by    context.Context // the caller's
	lock  context.Context // of the lock as a whole
}

func newAttempt(life, ctx context.Context, wait time.Duration) *attempt {
	w := &attempt{by: ctx, lock: life}
	w.Context, w.end = context.WithCancel(life)
	w.stop = context.AfterFunc(ctx, w.end)
	if wait > 0 {
		w.timer = time.AfterFunc(wait, w.end)
	}
	return w
}

// granted lets the hold live on, and reports false if it was given up already.
func (w *attempt) granted() bool {
	w.stop()
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.Err() == nil
}

// over returns the outcome of a request that was given up: refused, if only its wait had ended and nothing of it is left.
func (w *attempt) over(err error) error {
	w.granted()
	gaveUp := w.Err() != nil && w.by.Err() == nil
	w.end()
	switch {
	case w.lock.Err() != nil:
		return impls.ErrClosed
	case gaveUp:
		return impls.ErrBusy
	}
	return err
}
