package impls

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the locks of other libraries share. They are called as their users call them, at the defaults of the library and
// of its client, but for the lease, which is the request's, and for the connections, which are the Env's.

// plainNodes connects to servers as go-redis does by default: it sends a command that was not answered up to three times
// again, and a context that ends does not cut one off. What it would find out about the server is left out: an
// emulator does not know it.
func plainNodes(env Env) ([]node, error) {
	var all []node
	for _, url := range env.Nodes {
		opts, err := reach(env, url)
		if err != nil {
			return nil, err
		}
		quietly := careful(&redis.Options{})
		opts.DisableIdentity, opts.MaintNotificationsConfig = quietly.DisableIdentity, quietly.MaintNotificationsConfig
		all = append(all, node{redis.NewClient(opts), env.Prefix})
	}
	return all, nil
}

// objects are what a library gave out for its holds, each of which gives itself back. The last one of each key that was
// given back is kept: who gives it back again is to be answered by the library.
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

// take finds what a grant was, and whether it is given back for the first time.
func (o *objects[T]) take(g Grant) (object T, first, found bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if object, found = o.held[g.Token]; found {
		delete(o.held, g.Token)
		o.spent[g.Key] = spent[T]{g.Token, object}
		return object, true, true
	}
	s := o.spent[g.Key]
	return s.object, false, s.token == g.Token && g.Token != ""
}

// all are those that were not given back.
func (o *objects[T]) all() []T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.held))
}

// perLease are the sessions of a lock, which were opened for leases of several lengths.
type perLease[S any] struct {
	open func(context.Context, time.Duration) (S, error)
	end  func(S)

	mu     sync.Mutex // guards what follows; never held across a command
	of     map[time.Duration]*sessions[S]
	closed bool
}

func (p *perLease[S]) sessions(ttl time.Duration) *sessions[S] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[time.Duration]*sessions[S]{}
	}
	s := p.of[ttl]
	if s == nil {
		s = &sessions[S]{end: p.end, closed: p.closed, open: func(ctx context.Context) (S, error) { return p.open(ctx, ttl) }}
		p.of[ttl] = s
	}
	return s
}

func (p *perLease[S]) close() {
	p.mu.Lock()
	p.closed = true
	all := slices.Collect(maps.Values(p.of))
	p.mu.Unlock()
	for _, s := range all {
		s.close()
	}
}

// waiting is the life of a hold that is being asked for: it ends with the caller's context, and when the patience is
// over, but only until the lock is granted. A library may bind a hold to the context that it was asked for with.
type waiting struct {
	context.Context
	end   context.CancelFunc
	stop  func() bool
	timer *time.Timer
	by    context.Context // the caller's
	lock  context.Context // of the lock as a whole
}

func newWaiting(life, ctx context.Context, wait time.Duration) *waiting {
	w := &waiting{by: ctx, lock: life}
	w.Context, w.end = context.WithCancel(life)
	w.stop = context.AfterFunc(ctx, w.end)
	if wait > 0 {
		w.timer = time.AfterFunc(wait, w.end)
	}
	return w
}

// granted says that the hold is to live on; false: it was given up already.
func (w *waiting) granted() bool {
	w.stop()
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.Err() == nil
}

// over is how a request came out that was given up: where only the patience had ended, and nothing of it is left, it
// was refused.
func (w *waiting) over(err error) error {
	w.granted()
	gaveUp := w.Err() != nil && w.by.Err() == nil
	w.end()
	switch {
	case w.lock.Err() != nil:
		return errLockClosed
	case gaveUp:
		return ErrBusy
	}
	return err
}
