package redis

import (
	"context"
	"slices"
	"sync"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// ReentrantFlag is an article's first attempt at re-entrancy: a thread-local marker says "I am in already".
//
// Its defects are kept as they were published. The marker is set before the server was asked, also when
// the server then refuses, so that the next try is granted without asking. The marker is never cleared,
// so that after its first grant a thread is granted for ever. And nothing counts, so that the inner
// release frees what the outer one holds.
func ReentrantFlag() impls.Impl {
	return impls.Impl{
		Name: "reentrant-flag", Control: true, Store: "redis", Deployment: "single", Reentrant: true, BackOff: waiting.LongestPause,
		Doc: "an article's re-entrant lock: an owner marker that is never cleared, and no count",
		Expect: slices.Concat(
			expect.Violated("a thread whose marker is set, be it by a refusal, is granted without asking the server", expect.Exclusion...),
			expect.Violated("the inner release deletes the key that the outer hold relies on", "reentrancy"),
			markedForEver()),
		Open: func(env impls.Env) (impls.Lock, error) {
			m, err := openMarked(env)
			return &reentrantFlagLock{m}, err
		},
	}
}

// markedForEver expects of a marker that is never cleared, in special workloads.
func markedForEver() []impls.Expectation {
	return slices.Concat(
		expect.In("misuse", expect.Observed("most grants never reach the store, so that there is little to release wrongly", "owner-release")),
		expect.In("long-hold", expect.Violated("a thread whose marker is set is granted without asking the server",
			"lease-exclusion", "mutual-exclusion")))
}

// marked is a lock whose owners have a marker, as a thread-local is: one for all keys, and never cleared.
type marked struct {
	single

	mu     sync.Mutex
	marker map[string]string // by owner
}

func openMarked(env impls.Env) (*marked, error) {
	s, err := openSingle(env)
	return &marked{single: s, marker: map[string]string{}}, err
}

func (l *marked) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		mine, already := l.mark(req.Owner)
		grant := impls.Grant{Token: mine, Validity: req.TTL}
		if already {
			return grant, nil
		}
		return grant, l.setNXPX(ctx, req.Key, mine, req.TTL)
	})
}

// mark returns the owner's marker, and whether it was set before.
func (l *marked) mark(owner string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, already := l.marker[owner]
	if !already {
		m = impls.Token(l.env.Rand)
		l.marker[owner] = m
	}
	return m, already
}

type reentrantFlagLock struct{ *marked }

var _ impls.Prober = (*reentrantFlagLock)(nil)

// Release does nothing if the store bears another token. The article's method returns nothing; what its condition knew
// is answered here as ErrNotHeld.
func (l *reentrantFlagLock) Release(ctx context.Context, g impls.Grant) error {
	return l.getDel(ctx, g.Key, g.Token)
}
