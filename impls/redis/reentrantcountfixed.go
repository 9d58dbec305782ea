package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// ReentrantCountFixed is reentrant-count repaired: the owner's marker is set by a grant and by nothing else,
// holds for one key and as long as its lease, counts right, and is cleared by the last release, which alone
// compares and deletes. What is left is what every lock without renewal has: the lease can run out under
// a holder that does not notice, and the count is the process's, so that no other process can re-enter.
func ReentrantCountFixed() impls.Impl {
	return impls.Impl{
		Name: "reentrant-count-fixed", Store: "redis", Deployment: "single", Reentrant: true, BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a count of re-entries in the process; the last release compares and deletes",
		Expect: slices.Concat(
			expect.Excludes("only who was granted by SET NX is granted again without asking, while its lease lasts"),
			expect.Holds("every holder deletes its key, and what is forgotten expires", "no-orphan", "progress"),
			expect.Holds("the count is raised by each grant and only the last release deletes", "reentrancy"),
			expect.ComparedRelease(), expect.PromiseOutlived()),
		Open: func(env impls.Env) (impls.Lock, error) {
			s, err := openSingle(env)
			return &reentrantCountFixedLock{single: s, of: map[ownedKey]*entered{}}, err
		},
	}
}

type reentrantCountFixedLock struct {
	single

	mu sync.Mutex
	of map[ownedKey]*entered
}

// ownedKey is a key and who holds it.
type ownedKey struct{ key, owner string }

// entered is a hold of the process.
type entered struct {
	token string
	until time.Time // the lease's end, from the sending of the attempt that won
	depth int
}

var _ impls.Prober = (*reentrantCountFixedLock)(nil)

func (l *reentrantCountFixedLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		if again, ok := l.enterAgain(req); ok {
			return again, nil
		}
		mine, sent := impls.Token(l.env.Rand), time.Now()
		if err := l.setNXPX(ctx, req.Key, mine, req.TTL); err != nil {
			return impls.Grant{}, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.of[ownedKey{req.Key, req.Owner}] = &entered{mine, sent.Add(req.TTL), 1}
		return impls.Grant{Token: mine, Depth: 1, Validity: req.TTL}, nil
	})
}

// enterAgain grants to the owner that holds: what is left of the lease. A hold whose lease is over is
// forgotten, so that its owner asks the server as everybody does.
func (l *reentrantCountFixedLock) enterAgain(req impls.Request) (impls.Grant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.of[ownedKey{req.Key, req.Owner}]
	if !ok {
		return impls.Grant{}, false
	}
	left := time.Until(e.until)
	if left <= 0 {
		delete(l.of, ownedKey{req.Key, req.Owner})
		return impls.Grant{}, false
	}
	e.depth++
	return impls.Grant{Token: e.token, Depth: e.depth, Validity: left}, true
}

// Release lowers the count; the last one clears the marker first, whatever the server then answers.
func (l *reentrantCountFixedLock) Release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	held := ownedKey{g.Key, g.Owner}
	e := l.of[held]
	mine := e != nil && e.token == g.Token
	last := mine && e.depth == 1
	if mine {
		e.depth--
	}
	if last {
		delete(l.of, held)
	}
	l.mu.Unlock()
	switch {
	case !mine:
		return impls.ErrNotHeld
	case !last:
		return nil
	}
	return l.deleteIfMine(ctx, g.Key, g.Token)
}
