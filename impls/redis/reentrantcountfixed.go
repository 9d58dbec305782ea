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

// ReentrantCountFixed is reentrant-count repaired: the owner's marker is set by a grant only, is of one key and lease, counts
// right, and is cleared by the last release, which compares and deletes. The lease can still run out under its holder, and no
// other process can re-enter.
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
	held := ownedKey{req.Key, req.Owner}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.of[held]; e != nil && time.Until(e.until) > 0 { // to the owner that holds: what is left of the lease
		e.depth++
		return impls.Grant{Token: e.token, Depth: e.depth, Validity: time.Until(e.until)}, nil
	}
	delete(l.of, held)
	l.mu.Unlock()
	sent := time.Now()
	g, err := l.setToken(ctx, req)
	l.mu.Lock()
	if err == nil {
		g.Depth = 1
		l.of[held] = &entered{g.Token, sent.Add(req.TTL), 1}
	}
	return g, err
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
