package workloads

import (
	"context"
	"errors"
	"sync"

	"lockbench/impls"
)

// ErrStale is definite: the resource has seen a higher fencing token and did nothing.
var ErrStale = errors.New("stale")

// ErrGone means that a client's process has ended. Its request may or may not have taken effect.
var ErrGone = errors.New("the process is gone")

// Resource is the resource that the lock guards, as a client's process reaches it. No fault affects it unless one targets
// it. fence is the token of the hold, or 0.
type Resource interface {
	Read(ctx context.Context, key string, fence int64) (int64, error)
	Write(ctx context.Context, key string, value, fence int64) error
	Append(ctx context.Context, key string, fence int64) error // appends data, such as an order
}

// Process is a process of clients: the lock that they share, and their access to the resource.
type Process struct {
	Lock     impls.Lock
	Resource Resource
	// Running returns when the process runs, so that a client's work lasts as long as its process is paused. It is nil for
	// this process.
	Running func(context.Context) error
}

// Check selects how a resource treats fencing tokens. The zero value checks nothing.
type Check string

const (
	Checking       Check = "checking"        // reads and writes raise the mark, and lower tokens are refused
	CheckingWrites Check = "checking-writes" // only writes raise and compare the mark, so a client may be overtaken between read and write
)

// Register is a Resource in memory: one linearizable number per key.
type Register struct {
	check Check
	mu    sync.Mutex
	keys  map[string]*registered
}

type registered struct{ value, orders, mark int64 }

var _ Resource = (*Register)(nil)

// NewRegister returns a register of zeros.
func NewRegister(check Check) *Register {
	return &Register{check: check, keys: map[string]*registered{}}
}

// use changes a key unless the token is below the mark.
func (r *Register) use(key string, fence int64, checked bool, do func(*registered)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.keys[key]
	if k == nil {
		k = &registered{}
		r.keys[key] = k
	}
	if fence != 0 && checked {
		if fence < k.mark {
			return ErrStale
		}
		k.mark = fence
	}
	do(k)
	return nil
}

func (r *Register) Read(_ context.Context, key string, fence int64) (value int64, err error) {
	err = r.use(key, fence, r.check == Checking, func(k *registered) { value = k.value })
	return value, err
}

func (r *Register) Write(_ context.Context, key string, value, fence int64) error {
	return r.use(key, fence, true, func(k *registered) { k.value = value })
}

// Append counts an order.
func (r *Register) Append(_ context.Context, key string, fence int64) error {
	return r.use(key, fence, true, func(k *registered) { k.orders++ })
}
