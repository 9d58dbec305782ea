package impls

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// reentrantFlag is an article's first attempt at re-entrancy: a thread-local marker says "I am in already".
//
// Its defects are kept as they were published. The marker is set before the server was asked, also when
// the server then refuses, so that the next try is granted without asking. The marker is never cleared,
// so that after its first grant a thread is granted for ever. And nothing counts, so that the inner
// release frees what the outer one holds.
func reentrantFlag() Impl {
	return Impl{
		Name: "reentrant-flag", Control: true, Store: "redis", Deployment: "single", Reentrant: true, BackOff: longestPause,
		Doc: "an article's re-entrant lock: an owner marker that is never cleared, and no count",
		Expect: together(
			expect(Breaks, "a thread whose marker is set, be it by a refusal, is granted without asking the server",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Breaks, "the inner release deletes the key that the outer hold relies on", "reentrancy"),
			markedForEver()),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &reentrantFlagLock{single: s, marker: map[string]string{}}, err
		},
	}
}

type reentrantFlagLock struct {
	single

	mu     sync.Mutex
	marker map[string]string // by owner, as a thread-local is: one for all keys
}

var (
	_ Lock   = (*reentrantFlagLock)(nil)
	_ Prober = (*reentrantFlagLock)(nil)
)

func (l *reentrantFlagLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine, already := l.mark(req.Owner)
		grant := Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}
		if already {
			return grant, nil
		}
		return grant, l.setNXPX(ctx, req.Key, mine, req.TTL)
	})
}

// mark returns the owner's marker, and whether it was set before.
func (l *reentrantFlagLock) mark(owner string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m, ok := l.marker[owner]; ok {
		return m, true
	}
	m := token(l.env.Rand)
	l.marker[owner] = m
	return m, false
}

// Release does nothing where the store bears another token. The article's method returns nothing; what
// its condition knew is answered here as ErrNotHeld.
func (l *reentrantFlagLock) Release(ctx context.Context, g Grant) error {
	value, err := l.Get(ctx, l.key(g.Key)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if value != g.Token {
		return ErrNotHeld
	}
	return l.del(ctx, g.Key)
}
