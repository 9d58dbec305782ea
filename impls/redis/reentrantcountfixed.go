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

// ReentrantCountFixed is a re-entrant lock that corrects the two defects of ReentrantCount. An owner counts as the holder
// only after a grant, for the granted key, until the lease expires. The lock counts nested holds. The last release deletes
// the key if the key still has the owner's token.
//
// Two limits remain. The lease can expire during a hold, and the lock is re-entrant only within one process.
func ReentrantCountFixed() impls.Impl {
	return impls.Impl{
		Name: "reentrant-count-fixed", Store: "redis", Deployment: "single", Reentrant: true, LocalOwners: true, BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a count of re-entries in the process; the last release compares and deletes",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(),
			expect.Excludes("only a holder by SET NX is granted again without a request, while its lease lasts"),
			expect.Holds("every holder deletes its key, and other keys expire", "no-orphan", "progress"),
			expect.Holds("each grant increments the count and only the last release deletes", "reentrancy"),
			expect.ComparedRelease(), expect.Backed(), expect.PromiseOutlived()),
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

type ownedKey struct{ key, owner string }

type entered struct {
	token string
	until time.Time // end of the lease, counted from the request that was granted
	depth int
}

func (l *counted) attempt(ctx context.Context, req impls.Request) (impls.Grant, error) {
	held := ownedKey{req.Key, req.Owner}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.of[held]; e != nil && time.Until(e.until) > 0 { // a nested grant is valid for the remaining lease of the hold
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

// release decrements the count of nested holds. The last release removes the local record of the hold before it sends its
// request. The record stays removed if the request fails.
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
