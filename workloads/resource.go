package workloads

import (
	"context"
	"errors"
	"sync"

	"lockbench/impls"
)

// ErrStale means that the resource has seen a higher fencing token. The operation had no effect.
var ErrStale = errors.New("stale")

// ErrGone means that the client's process has ended. It is unknown whether the request took effect.
var ErrGone = errors.New("the process is gone")

// Resource provides access to the data that the lock guards. Only faults that target the resource affect it. The parameter
// fence is the fencing token of the hold, or 0 if the hold has no token.
type Resource interface {
	Read(ctx context.Context, key string, fence int64) (int64, error)
	Write(ctx context.Context, key string, value, fence int64) error
	Append(ctx context.Context, key string, fence int64) error // appends a record, such as an order
}

// Process holds the lock that the clients of one process share, and their access to the guarded resource.
type Process struct {
	Lock     impls.Lock
	Resource Resource
	// Running blocks while the process is paused. A pause therefore also delays the work of the clients. Running is nil
	// for the current process.
	Running func(context.Context) error
}

// Check selects the operations for which a resource checks fencing tokens.
type Check string

const (
	Checking       Check = "checking"        // a read or write is refused if its token is lower than the token of an earlier read or write
	CheckingWrites Check = "checking-writes" // a write is refused if its token is lower than the token of an earlier write; reads are never refused
)

// Register is a Resource in memory: one linearizable number per key.
type Register struct {
	check Check
	mu    sync.Mutex
	keys  map[string]*registered
}

type registered struct{ value, orders, mark int64 }

var _ Resource = (*Register)(nil)

// NewRegister returns a Register with all values 0.
func NewRegister(check Check) *Register {
	return &Register{check: check, keys: map[string]*registered{}}
}

// use calls a function with the state of a key. If checked is true, use first checks the fencing token. If an earlier
// checked token was higher, use returns ErrStale and does not call the function.
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

// Append appends a record, such as an order, to a key. A Register only counts the records.
func (r *Register) Append(_ context.Context, key string, fence int64) error {
	return r.use(key, fence, true, func(k *registered) { k.orders++ })
}
