package redis

import (
	"context"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// ReentrantCount is an article's second attempt at re-entrancy: reentrant-flag with a counter.
//
// Its defects are kept as they were published. The counter is stored before it is raised, so that it is
// never anything but 0 and each release deletes the key, the inner one too. The marker is still set before
// the server was asked and never cleared. In the article a release by a thread that never tried ends in a
// null pointer; here it is answered as ErrNotHeld, for it has no effect either.
func ReentrantCount() impls.Impl {
	return impls.Impl{
		Name: "reentrant-count", Control: true, Store: "redis", Deployment: "single", Reentrant: true, BackOff: waiting.LongestPause,
		Doc: "an article's re-entrant lock with a count that stays 0, and a marker that is never cleared",
		Expect: slices.Concat(
			expect.Violated("a thread whose marker is set, be it by a refusal, is granted without asking the server", expect.Exclusion...),
			expect.Violated("the count stays 0, so that the inner release deletes the key that the outer hold relies on", "reentrancy"),
			markedForEver()),
		Open: func(env impls.Env) (impls.Lock, error) {
			m, err := openMarked(env)
			return &reentrantCountLock{m}, err
		},
	}
}

// reentrantCountLock has no counter: the article's stays 0, so that every release is the last one.
type reentrantCountLock struct{ *marked }

var _ impls.Prober = (*reentrantCountLock)(nil)

// Release does nothing if the store bears another token than the owner's marker. The article's method returns nothing;
// what its condition knew is answered here as ErrNotHeld.
func (l *reentrantCountLock) Release(ctx context.Context, g impls.Grant) error {
	value, err := l.value(ctx, g.Key)
	if err != nil {
		return err
	}
	l.mu.Lock()
	marker := l.marker[g.Owner]
	l.mu.Unlock()
	if marker == "" || value != marker {
		return impls.ErrNotHeld
	}
	return l.del(ctx, g.Key)
}
