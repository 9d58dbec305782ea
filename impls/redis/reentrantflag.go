package redis

import (
	"context"
	"slices"
	"sync"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// ReentrantFlag is an article's first attempt at a re-entrant lock. A thread-local marker records that the thread holds the
// lock.
//
// It has the article's two defects. The marker is set before the request and never cleared, so every later try of the
// thread is granted. Nested holds are not counted, so an inner release frees the outer hold.
func ReentrantFlag() impls.Impl {
	return impls.Impl{
		Name: "reentrant-flag", Control: true, Store: "redis", Deployment: "single", Reentrant: true, BackOff: waiting.LongestPause,
		Doc: "an article's re-entrant lock: an owner marker that is never cleared, and no count",
		Expect: slices.Concat(
			expect.Violated("a thread whose marker is set, even by a refusal, is granted without a request", expect.Exclusion...),
			expect.Violated("the inner release deletes the key that the outer hold relies on", "reentrancy"),
			markedForEver()),
		// getThenDelete returns ErrNotHeld if the store has another token. The release in the article, from which this lock is
		// copied, returns no result.
		Open: openSimple(func(s single) (attempt, release) { return newMarked(s).attempt, s.getThenDelete }),
	}
}

// markedForEver returns expectations for the workloads misuse and long-hold. They apply to a lock that treats a thread
// as the holder forever after its first try.
func markedForEver() []impls.Expectation {
	return slices.Concat(
		expect.In("misuse", expect.Observed("most grants never reach the store, so few wrong releases are possible", "owner-release")),
		expect.In("long-hold", expect.Violated("a thread whose marker is set is granted without a request",
			"lease-exclusion", "mutual-exclusion")))
}

// marked is a lock from an article. It stores a token for an owner when the owner first tries to acquire the lock. From
// then on, it treats the owner as the holder of every key. The token is never deleted. The article keeps the token in a
// thread-local variable.
type marked struct {
	single

	mu     sync.Mutex
	marker map[string]string // token of the first try, by owner; never deleted
}

func newMarked(s single) *marked { return &marked{single: s, marker: map[string]string{}} }

func (l *marked) attempt(ctx context.Context, req impls.Request) (impls.Grant, error) {
	l.mu.Lock()
	mine, already := l.marker[req.Owner]
	if !already {
		mine = impls.Token(l.env.Rand)
		l.marker[req.Owner] = mine
	}
	l.mu.Unlock()
	grant := impls.Grant{Token: mine, Validity: req.TTL}
	if already {
		return grant, nil
	}
	return grant, l.setNXPX(ctx, req.Key, mine, req.TTL)
}
