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

// SharedToken is an article's lock whose token is a field that all threads share. Its defect is kept: every try overwrites
// the field, even if it is refused, and a release compares the field rather than the token of its grant.
func SharedToken() impls.Impl {
	return impls.Impl{
		Name: "shared-token", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause, TwoStepRelease: true,
		Lease: time.Second, // its users wait for most of them to run out
		Doc:   "an article's lock: the token is a field that all threads share and every try overwrites",
		Expect: slices.Concat(
			expect.Excludes("the field is in the store only while the last try of its process is the one that holds, so what is deleted is the holder's own"),
			expect.Holds("a key that its holder could not delete expires with its lease", "no-orphan"),
			expect.Observed("a key that is left behind frees itself within the bound, the lease: it shows as holds per second, not as a wait beyond the bound", "progress"),
			expect.Under("holder-stall", expect.Violated("the field has the token of the next one, of the same process: the late one deletes that one's key, and a third is let in",
				"lease-exclusion", "mutual-exclusion")),
			expect.In("misuse", expect.Observed("another thread of the process can release if none tried since the grant: it depends on who tried last", "owner-release")),
			expect.In("long-hold", expect.LeaseRunsOut())),
		Open: openSimple(func(s single) (attempt, release) {
			l := &sharedToken{single: s}
			return l.attempt, l.release
		}),
	}
}

type sharedToken struct {
	single

	mu    sync.Mutex // orders what the article leaves to chance, the writing of one word; nothing else
	field string     // the token of the last try, whoever's and for whatever key
}

func (l *sharedToken) attempt(ctx context.Context, req impls.Request) (impls.Grant, error) {
	mine := impls.Token(l.env.Rand)
	l.mu.Lock()
	l.field = mine // before the server was asked
	l.mu.Unlock()
	return impls.Grant{Token: mine, Validity: req.TTL}, l.setNXPX(ctx, req.Key, mine, req.TTL)
}

// release compares the field with the store. The article's method returns nothing where they differ; here it is
// ErrNotHeld.
func (l *sharedToken) release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	g.Token = l.field
	l.mu.Unlock()
	return l.getThenDelete(ctx, g)
}
