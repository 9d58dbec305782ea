package serve

import (
	"io/fs"
	"sync"
	"time"
)

// remembered keeps what was made of files for as long as they are the same. It forgets all when it is full: that is rare,
// and what is forgotten is made again.
type remembered[T any] struct {
	most int
	mu   sync.Mutex
	all  map[string]memory[T]
}

type memory[T any] struct {
	stamp stamp
	value T
}

// stamp tells one content of a file from another.
type stamp struct {
	size int64
	at   time.Time
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime()} }

func newRemembered[T any](most int) *remembered[T] {
	return &remembered[T]{most: most, all: map[string]memory[T]{}}
}

func (r *remembered[T]) get(name string, now stamp) (value T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.all[name]
	if !ok || m.stamp != now {
		return value, false
	}
	return m.value, true
}

func (r *remembered[T]) put(name string, now stamp, value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) >= r.most {
		clear(r.all)
	}
	r.all[name] = memory[T]{now, value}
}
