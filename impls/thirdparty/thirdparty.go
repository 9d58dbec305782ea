// Package thirdparty wraps locks of third-party libraries. They are called as their users call them: with the defaults of
// the library and its client, except for the lease, from the request, and the connections, from the Env.
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

// objects holds a library's objects for its holds. The last released one of each key is retained for a second release.
type objects[T any] struct {
	mu    sync.Mutex
	held  map[string]T        // held objects by token
	spent map[string]spent[T] // last released object by key
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

// take returns the object of a grant; first reports whether this is its first release.
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

// notHeld adds ErrNotHeld to a library's error of that meaning.
func notHeld(err error, said ...error) error {
	if slices.ContainsFunc(said, func(s error) bool { return errors.Is(err, s) }) {
		return fmt.Errorf("%w: %w", impls.ErrNotHeld, err)
	}
	return err
}

// attempt is the context of an acquire: it ends with the caller's context and after its wait, but only until the grant,
// because a library may bind the hold to it.
type attempt struct {
	context.Context
	end   context.CancelFunc
	stop  func() bool
	timer *time.Timer
	by    context.Context // context of the caller
	lock  context.Context // context of the lock
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

// granted detaches the hold from the wait. It returns false if the wait has already ended.
func (w *attempt) granted() bool {
	w.stop()
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.Err() == nil
}

// over returns the result of an abandoned request: a refusal if only its wait has ended and the request has no further
// effect.
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
