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

// ReentrantCountFixed is reentrant-count repaired: the owner's marker is set by a grant only, holds for one key and as long
// as its lease, counts right, and is cleared by the last release, which alone compares and deletes. What is left: the lease
// can run out under its holder, and no other process can re-enter.
func ReentrantCountFixed() impls.Impl {
	return impls.Impl{
		Name: "reentrant-count-fixed", Store: "redis", Deployment: "single", Reentrant: true, BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a count of re-entries in the process; the last release compares and deletes",
		Expect: slices.Concat(
			expect.Excludes("only who was granted by SET NX is granted again without asking, while its lease lasts"),
			expect.Holds("every holder deletes its key, and what is forgotten expires", "no-orphan", "progress"),
			expect.Holds("the count is raised by each grant and only the last release deletes", "reentrancy"),
			expect.ComparedRelease(), expect.PromiseOutlived()),
		Open: openSimple(func(s single) (attempt, release) {
			l := &counted{single: s, of: map[ownedKey]*entered{}}
			return l.attempt, l.release
		}),
	}
}

type counted struct {
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

func (l *counted) attempt(ctx context.Context, req impls.Request) (impls.Grant, error) {
	if again, ok := l.enterAgain(req); ok {
		return again, nil
	}
	sent := time.Now()
	g, err := l.setToken(ctx, req)
	if err != nil {
		return g, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[ownedKey{req.Key, req.Owner}] = &entered{g.Token, sent.Add(req.TTL), 1}
	g.Depth = 1
	return g, nil
}

// enterAgain grants to the owner that holds: what is left of the lease.
func (l *counted) enterAgain(req impls.Request) (impls.Grant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of[ownedKey{req.Key, req.Owner}]
	if e == nil || time.Until(e.until) <= 0 {
		delete(l.of, ownedKey{req.Key, req.Owner})
		return impls.Grant{}, false
	}
	e.depth++
	return impls.Grant{Token: e.token, Depth: e.depth, Validity: time.Until(e.until)}, true
}

// release lowers the count; the last one clears the marker first, whatever the server then answers.
func (l *counted) release(ctx context.Context, g impls.Grant) error {
	held := ownedKey{g.Key, g.Owner}
	l.mu.Lock()
	e := l.of[held]
	mine := e != nil && e.token == g.Token
	if mine {
		e.depth--
	}
	last := mine && e.depth == 0
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
	return l.compareAndDelete(ctx, g)
}
