package redis

import (
	"context"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// ReentrantCount is an article's second attempt at a re-entrant lock: reentrant-flag with a counter.
//
// It has the article's two defects. The counter is stored before it is incremented, so it stays 0. Every release therefore
// deletes the key, even the release of a nested hold. The marker of the owner is set before the request and never cleared.
func ReentrantCount() impls.Impl {
	return impls.Impl{
		Name: "reentrant-count", Control: true, Store: "redis", Deployment: "single", Reentrant: true, BackOff: waiting.LongestPause,
		Doc: "an article's re-entrant lock with a count that stays 0, and a marker that is never cleared",
		Expect: slices.Concat(
			expect.Violated("a thread whose marker is set, even by a refusal, is granted without a request", expect.Exclusion...),
			expect.Violated("the count stays 0, so that the inner release deletes the key that the outer hold relies on", "reentrancy"),
			markedForEver()),
		Open: openSimple(func(s single) (attempt, release) {
			m := newMarked(s)
			return m.attempt, m.release
		}),
	}
}

// release deletes the key at every call. The reason is a defect of the article from which the lock is copied: its
// counter of nested holds always stays 0. If the store does not have the owner's token, release returns ErrNotHeld. In
// this case, the article's method returns no result, or fails with a null pointer.
func (l *marked) release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	g.Token = l.marker[g.Owner]
	l.mu.Unlock()
	return l.getThenDelete(ctx, g)
}
