// Package thirdparty wraps locks of third-party libraries. It uses each library and its client with their defaults. Only
// the lease comes from the request, and the connections from the Env.
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

// objects stores the library's object for each hold, such as a mutex. For each key, it keeps the last released object, in
// case the object is released again.
type objects[T any] struct {
	mu    sync.Mutex
	held  map[string]T        // the library's objects for current holds, by token
	spent map[string]spent[T] // for each key, the library's object for the last released hold
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

// take returns the object stored for a grant. first reports whether this is the first release of the grant.
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

// notHeld wraps err in ErrNotHeld if err is one of the given errors of the library.
func notHeld(err error, said ...error) error {
	if slices.ContainsFunc(said, func(s error) bool { return errors.Is(err, s) }) {
		return fmt.Errorf("%w: %w", impls.ErrNotHeld, err)
	}
	return err
}

// attempt is the context of an acquire. Until the grant, it ends when the caller's context ends or the timeout expires.
// After the grant, neither ends it, because a library may bind the hold to this context.
type attempt struct {
	context.Context
	end   context.CancelFunc
	stop  func() bool
	timer *time.Timer
	by    context.Context // context of the caller
	lock  context.Context // context of the lock, which ends when the lock is closed
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

// granted makes the context of an acquire independent of the caller's context and of the timeout. It returns false if
// the context of the acquire has already ended.
func (w *attempt) granted() bool {
	w.stop()
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.Err() == nil
}

// endAbandoned ends an abandoned attempt and returns its error. The error is ErrBusy if the wait timed out, ErrClosed
// if the lock was closed, and otherwise err.
func (w *attempt) endAbandoned(err error) error {
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
