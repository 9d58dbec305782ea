package impls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bsm/redislock"
)

// redisLock is github.com/bsm/redislock as its documentation shows it: it tries once by default, and who is to wait asks
// again each 500 ms, until a deadline.
func redisLock() Impl {
	return redisLockImpl("redislock", 500*time.Millisecond,
		"bsm/redislock v0.10 as documented: a script sets what is free, and who waits asks each 500 ms (LinearBackoff)",
		together(peerLease(Open), // who asks each 500 ms seldom comes while a holder is late
			in("long-hold", together(expect(Open, "who asks each 500 ms seldom comes while a holder is late", "mutual-exclusion"),
				expect(Holds, "the next is granted after the lease, and a late release frees nobody else's", "lease-exclusion")))))
}

// redisLockTuned is redislock for a lock that is wanted by many and held for a moment. A pause that doubles would be for
// those who waited longest the longest.
func redisLockTuned() Impl {
	return redisLockImpl("redislock-tuned", 5*time.Millisecond,
		"bsm/redislock v0.10 for short holds: who waits asks each 5 ms (LinearBackoff)",
		together(peerLease(Breaks), promiseOutlived()))
}

func redisLockImpl(name string, pause time.Duration, doc string, more []Expectation) Impl {
	return Impl{
		Name: name, Store: "redis", Deployment: "single", Peer: true, BackOff: pause, Doc: doc,
		Expect: together(threeViews(Holds, "one script sets what is free, and grants again to the same random token only"),
			expect(Holds, "its script deletes nobody else's key, and what is forgotten expires", "no-orphan", "progress"),
			more),
		Open: func(env Env) (Lock, error) { return openRedisLock(env, pause) },
	}
}

type redisLockLock struct {
	node
	env    Env
	pause  time.Duration
	client *redislock.Client
	holds  *objects[*redislock.Lock]
}

var (
	_ Lock   = (*redisLockLock)(nil)
	_ Prober = (*redisLockLock)(nil)
)

func openRedisLock(env Env, pause time.Duration) (Lock, error) {
	if err := CheckParams(env.Params); err != nil {
		return nil, err
	}
	if len(env.Nodes) != 1 {
		return nil, fmt.Errorf("want 1 server, got %d", len(env.Nodes))
	}
	nodes, err := plainNodes(env)
	if err != nil {
		return nil, err
	}
	return &redisLockLock{nodes[0], env, pause, redislock.New(nodes[0].UniversalClient), newObjects[*redislock.Lock]()}, nil
}

// asking is a retry strategy that knows when the attempt that it leads to is sent at the earliest.
type asking struct {
	redislock.RetryStrategy
	sent  time.Time
	tally *Tally
}

// NextBackoff is called between two attempts.
func (a *asking) NextBackoff() time.Duration {
	pause := a.RetryStrategy.NextBackoff()
	a.sent = time.Now().Add(pause)
	if pause > 0 { // else it gives up
		a.tally.Attempt()
	}
	return pause
}

func (l *redisLockLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, err
	}
	start := time.Now()
	l.env.Tally.Attempt()
	a := &asking{redislock.LinearBackoff(l.pause), start, l.env.Tally}
	wait := req.Wait
	switch {
	case wait == 0:
		a.RetryStrategy = redislock.NoRetry()
	case wait < 0:
		wait = math.MaxInt64 // without a deadline it would give up after a lease
	}
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	got, err := l.client.Obtain(ctx, l.key(req.Key), req.TTL, &redislock.Options{RetryStrategy: a, Token: token(l.env.Rand)})
	switch {
	case errors.Is(err, redislock.ErrNotObtained): // it asks again only where it was refused, so the last answer was no
		return Hold{}, fmt.Errorf("%w: %w", ErrBusy, err)
	case err != nil:
		return Hold{}, err
	}
	l.holds.keep(got.Token(), got)
	return Hold{Grant: Grant{Key: req.Key, Owner: req.Owner, Token: got.Token(), Validity: req.TTL, SentAfter: a.sent.Sub(start)}}, nil
}

func (l *redisLockLock) Release(ctx context.Context, g Grant) error {
	held, _, found := l.holds.take(g)
	if !found {
		return fmt.Errorf("%w: nothing was obtained", ErrNotHeld)
	}
	err := held.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	return err
}

func (l *redisLockLock) Close() error { return l.UniversalClient.Close() }
