package workloads

import (
	"context"
	"errors"
	"sync"

	"lockbench/impls"
)

// ErrStale is definite: what the lock guards has seen a higher fencing token, and did nothing.
var ErrStale = errors.New("stale")

// ErrGone says that the process of a client is no more. What it was asked may or may not have been done.
var ErrGone = errors.New("the process is gone")

// Resource is what the lock guards, as a client's process reaches it. It stands outside every injected fault
// unless one is aimed at it. A fence is the token of the hold under which it is used, 0 where there is none.
type Resource interface {
	Read(ctx context.Context, key string, fence int64) (int64, error)
	Write(ctx context.Context, key string, value, fence int64) error
	Append(ctx context.Context, key string, fence int64) error // an order, or whatever else is only added
}

// Process is a process of clients: the lock that they share, and how they reach what it guards.
type Process struct {
	Lock     impls.Lock
	Resource Resource
	// Running returns when the process is seen to run, nil where it is this one: the work of a client goes
	// on for as long as its process stands still.
	Running func(context.Context) error
}

// Check is how a register treats fencing tokens. Without one it trusts the lock.
type Check string

const (
	Checking       Check = "checking"        // its mark rises on reads and writes, and what is below is refused
	CheckingWrites Check = "checking-writes" // on writes only: whoever has read may still be overtaken
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

// use does something with a key, if the token is not below the mark.
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

func (r *Register) Append(_ context.Context, key string, fence int64) error {
	return r.use(key, fence, true, func(k *registered) { k.orders++ })
}
