package workloads

import "sync"

// Resource is what the lock guards. It stands outside every injected fault unless one is aimed at it.
type Resource interface {
	Read(key string) int64
	Write(key string, value int64)
}

// register is a Resource in memory: one linearizable number per key, which trusts the lock entirely.
type register struct {
	mu    sync.Mutex
	value map[string]int64
}

var _ Resource = (*register)(nil)

// NewRegister returns a register of zeros.
func NewRegister() Resource { return &register{value: map[string]int64{}} }

func (r *register) Read(key string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value[key]
}

func (r *register) Write(key string, value int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value[key] = value
}
