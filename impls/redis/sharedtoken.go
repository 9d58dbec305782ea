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

// SharedToken is a lock from an article. All threads of a process share one field for the token. The published defects are
// kept. Every try overwrites the field, even if the try is refused. A release compares the stored token with the field, not
// with the token of its grant.
func SharedToken() impls.Impl {
	return impls.Impl{
		Name: "shared-token", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause, TwoStepRelease: true,
		Lease: time.Second, // tests mostly wait for this lease to expire
		Doc:   "an article's lock: the token is a field that all threads share and every try overwrites",
		Expect: slices.Concat(
			expect.Excludes("the store has the field's value only while the last try of its process holds, so a release deletes the holder's own key"),
			expect.Holds("a key that its holder could not delete expires with its lease", "no-orphan"),
			expect.Observed("a remaining key expires within the bound, the lease: this lowers the number of holds per second, and no wait exceeds the bound", "progress"),
			expect.Under("holder-stall", expect.Violated("the field has the token of the next holder in the same process: the late release deletes that key, and a third client is granted",
				"lease-exclusion", "mutual-exclusion")),
			expect.In("misuse", expect.Observed("another thread of the process can release unless one tried since the grant: it depends on the last try", "owner-release")),
			expect.In("long-hold", expect.LeaseRunsOut())),
		Open: openSimple(func(s single) (attempt, release) {
			l := &sharedToken{single: s}
			return l.attempt, l.release
		}),
	}
}

type sharedToken struct {
	single

	mu    sync.Mutex // guards the field below; the published code has no such mutex, and therefore a data race
	field string     // token of the last try in this process, by any thread and on any key
}

func (l *sharedToken) attempt(ctx context.Context, req impls.Request) (impls.Grant, error) {
	mine := impls.Token(l.env.Rand)
	l.mu.Lock()
	l.field = mine // set before the request is sent, as in the published code
	l.mu.Unlock()
	return impls.Grant{Token: mine, Validity: req.TTL}, l.setNXPX(ctx, req.Key, mine, req.TTL)
}

// release compares the field with the stored token, and deletes the key if they are equal. Otherwise it returns
// ErrNotHeld, whereas the published method returns nothing.
func (l *sharedToken) release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	g.Token = l.field
	l.mu.Unlock()
	return l.getThenDelete(ctx, g)
}
