package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// Segmented is a lock from articles on products in high demand. The stock of a product is split over several keys, and
// requests use the keys in turn. The guarded resource must be split in the same way.
func Segmented() impls.Impl {
	return impls.Impl{
		Name: "segmented", Store: "redis", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "set-px-lua on one of several segments of a key, each with its part of the resource",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(),
			expect.Excludes("each segment is a separate lock, taken by SET NX and freed only by its owner"),
			expect.Holds("every holder deletes its segment's key, and other keys expire", "no-orphan", "progress"),
			expect.ComparedRelease(), expect.Backed(), expect.PromiseOutlived()),
		Open: func(env impls.Env) (impls.Lock, error) {
			s, err := openSingle(env)
			n := defaultSegments
			if text, ok := env.Params["segments"]; ok && err == nil {
				n, err = strconv.Atoi(text)
			}
			return &segmentedLock{simple: simple{s, s.setToken, s.compareAndDelete}, segments: n}, err
		},
	}
}

const defaultSegments = 5

type segmentedLock struct {
	simple
	segments int
	requests atomic.Uint64 // number of requests of this process
}

var _ impls.Segmenter = (*segmentedLock)(nil)

func (l *segmentedLock) Segments(key string) []string {
	keys := make([]string, l.segments)
	for i := range keys {
		keys[i] = segment(key, i)
	}
	return keys
}

func segment(key string, i int) string { return fmt.Sprintf("%s#%d", key, i) }

// Acquire acquires one of the keys (segments) over which the resource is split. Successive calls use the segments in turn.
// As in the articles that describe this lock, a call waits for its segment even if another segment is free.
func (l *segmentedLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	req.Key = segment(req.Key, int((l.requests.Add(1)-1)%uint64(l.segments)))
	hold, err := l.simple.Acquire(ctx, req)
	hold.Key = req.Key
	return hold, err
}
