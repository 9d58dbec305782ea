package serve

import (
	"io/fs"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// remembered keeps what was made of files for as long as they are the same.
type remembered[T any] struct{ cache *lru.Cache[string, memory[T]] }

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

func newRemembered[T any](most int) remembered[T] {
	cache, err := lru.New[string, memory[T]](most)
	if err != nil {
		panic(err) // most is not positive
	}
	return remembered[T]{cache}
}

func (r remembered[T]) get(name string, now stamp) (value T, ok bool) {
	m, ok := r.cache.Get(name)
	if !ok || m.stamp != now {
		return value, false
	}
	return m.value, true
}

func (r remembered[T]) put(name string, now stamp, value T) { r.cache.Add(name, memory[T]{now, value}) }
