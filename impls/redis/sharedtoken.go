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

// SharedToken is an article's lock whose token stands in one field of the lock object, which all threads
// share. Its defect is kept: every try overwrites the field, also one that is refused, and a release
// compares the field, not the token of the grant. A holder whose field was overwritten does not delete its
// key, which then stays until its lease is over; one whose process was granted last deletes for others too.
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
		Open: func(env impls.Env) (impls.Lock, error) {
			s, err := openSingle(env)
			return &sharedTokenLock{single: s}, err
		},
	}
}

type sharedTokenLock struct {
	single

	mu    sync.Mutex // orders what the article leaves to chance, the writing of one word; nothing else
	field string     // the token of the last try, whoever's and for whatever key
}

var _ impls.Prober = (*sharedTokenLock)(nil)

func (l *sharedTokenLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		mine := l.overwrite() // before the server was asked
		return impls.Grant{Token: mine, Validity: req.TTL}, l.setNXPX(ctx, req.Key, mine, req.TTL)
	})
}

func (l *sharedTokenLock) overwrite() string {
	mine := impls.Token(l.env.Rand)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.field = mine
	return mine
}

// Release compares the field with the store, and does nothing where they differ. The article's method
// returns nothing; what its condition knew is answered here as ErrNotHeld.
func (l *sharedTokenLock) Release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	last := l.field
	l.mu.Unlock()
	return l.getDel(ctx, g.Key, last)
}
