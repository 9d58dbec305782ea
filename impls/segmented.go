package impls

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
)

// segmented is the lock of articles on hot products: the stock is split over several keys, and a request
// takes the one that its number falls on. That many clients are inside at once, each with a segment of its
// own; what is guarded must be split the same way.
func segmented() Impl {
	return Impl{
		Name: "segmented", Store: "redis", Deployment: "single", BackOff: longestPause,
		Doc: "set-px-lua on one of several segments of a key, each with its part of what is guarded",
		Expect: together(
			expect(Holds, "each segment is a lock of its own, taken by SET NX and freed by its owner only",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "every holder deletes its segment's key, and what is forgotten expires", "no-orphan", "progress"),
			comparedRelease(), promiseOutlived()),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			n := defaultSegments
			if text, ok := env.Params["segments"]; ok && err == nil {
				n, err = strconv.Atoi(text)
			}
			return &segmentedLock{setPXLuaLock: setPXLuaLock{s}, segments: n}, err
		},
	}
}

const (
	defaultSegments = 5
	maxSegments     = 1000
)

type segmentedLock struct {
	setPXLuaLock
	segments int
	requests atomic.Uint64 // so far, of this process
}

var (
	_ Lock      = (*segmentedLock)(nil)
	_ Prober    = (*segmentedLock)(nil)
	_ Segmenter = (*segmentedLock)(nil)
)

func (l *segmentedLock) Segments(key string) []string {
	keys := make([]string, l.segments)
	for i := range keys {
		keys[i] = segment(key, i)
	}
	return keys
}

func segment(key string, i int) string { return fmt.Sprintf("%s#%d", key, i) }

// Acquire stays with its segment while it waits, also where another is free: that is the articles' lock.
func (l *segmentedLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	req.Key = segment(req.Key, int((l.requests.Add(1)-1)%uint64(l.segments)))
	hold, err := l.setPXLuaLock.Acquire(ctx, req)
	hold.Key = req.Key
	return hold, err
}
