package impls

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// reentrantCount is an article's second attempt at re-entrancy: reentrant-flag with a counter.
//
// Its defects are kept as they were published. The counter is stored before it is raised, so that it is
// never anything but 0 and each release deletes the key, the inner one too. The marker is still set before
// the server was asked and never cleared. In the article a release by a thread that never tried ends in a
// null pointer; here it is answered as ErrNotHeld, for it has no effect either.
func reentrantCount() Impl {
	return Impl{
		Name: "reentrant-count", Control: true, Store: "redis", Deployment: "single", Reentrant: true, BackOff: longestPause,
		Doc: "an article's re-entrant lock with a count that stays 0, and a marker that is never cleared",
		Expect: together(
			expect(Breaks, "a thread whose marker is set, be it by a refusal, is granted without asking the server",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Breaks, "the count stays 0, so that the inner release deletes the key that the outer hold relies on", "reentrancy"),
			markedForEver()),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &reentrantCountLock{single: s, of: map[string]*counted{}}, err
		},
	}
}

// markedForEver is what to expect of a marker that is never cleared in the workloads that go beyond the
// usual.
func markedForEver() []Expectation {
	return together(
		in("misuse", expect(Open, "most grants never reach the store, so that there is little to release wrongly", "owner-release")),
		in("long-hold", expect(Breaks, "a thread whose marker is set is granted without asking the server",
			"lease-exclusion", "mutual-exclusion")))
}

type reentrantCountLock struct {
	single

	mu sync.Mutex
	of map[string]*counted // by owner, as thread-locals are: one for all keys
}

// counted are an owner's thread-locals.
type counted struct {
	marker string
	count  int
}

var (
	_ Lock   = (*reentrantCountLock)(nil)
	_ Prober = (*reentrantCountLock)(nil)
)

func (l *reentrantCountLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine, already := l.mark(req.Owner)
		if !already {
			if err := l.setNXPX(ctx, req.Key, mine, req.TTL); err != nil {
				return Grant{}, err
			}
		}
		l.raise(req.Owner)
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}, nil
	})
}

// mark returns the owner's marker, and whether it was set before.
func (l *reentrantCountLock) mark(owner string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, already := l.of[owner]
	if !already {
		c = &counted{marker: token(l.env.Rand)}
		l.of[owner] = c
	}
	return c.marker, already
}

// raise stores the count and raises its copy afterwards: the article's mistake.
func (l *reentrantCountLock) raise(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := l.of[owner].count
	l.of[owner].count = count
	count++
	_ = count
}

// Release does nothing where the store bears another token than the owner's marker. The article's method
// returns nothing; what its condition knew is answered here as ErrNotHeld.
func (l *reentrantCountLock) Release(ctx context.Context, g Grant) error {
	value, err := l.Get(ctx, l.key(g.Key)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	c := l.locals(g.Owner)
	if c.marker == "" || value != c.marker {
		return ErrNotHeld
	}
	// The lowered count is not stored either, and is below 1 already at the first release.
	if c.count-1 > 0 {
		return nil
	}
	return l.del(ctx, g.Key)
}

// locals are a copy of what the owner's thread-locals hold.
func (l *reentrantCountLock) locals(owner string) counted {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.of[owner]; ok {
		return *c
	}
	return counted{}
}
