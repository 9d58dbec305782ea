package thirdparty

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bsm/redislock"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/redis"
	"lockbench/impls/waiting"
)

// Redislock is the library github.com/bsm/redislock, used as in its documentation. A waiter tries every 500 ms until a
// deadline.
func Redislock() impls.Impl {
	return redisLockImpl("redislock", 500*time.Millisecond,
		"bsm/redislock v0.10 as documented: a script sets a free key, and a waiter tries every 500 ms (LinearBackoff)",
		slices.Concat(leased(expect.Observed), // no expectation: violations are possible but rare, because few waiters request the lock while a hold outlives its lease
			expect.In("long-hold", expect.Observed("waiters that try every 500 ms seldom come while a holder is late", "mutual-exclusion"),
				expect.Holds("the next client is granted after the lease, and a late release frees no other client's key", "lease-exclusion"))))
}

// RedislockTuned is redislock with a short, constant delay for short holds under contention. An increasing delay would be
// longest for the clients that have waited longest.
func RedislockTuned() impls.Impl {
	return redisLockImpl("redislock-tuned", 5*time.Millisecond,
		"bsm/redislock v0.10 for short holds: a waiter tries every 5 ms (LinearBackoff)",
		slices.Concat(leased(expect.Violated), expect.PromiseOutlived()))
}

func redisLockImpl(name string, pause time.Duration, doc string, more []impls.Expectation) impls.Impl {
	return impls.Impl{
		Name: name, Store: "redis", Deployment: "single", ThirdParty: true, BackOff: pause, Doc: doc,
		Expect: slices.Concat(expect.Excludes("one script sets a free key, and grants again only to the same random token"),
			expect.Holds("its script deletes only the owner's key, and other keys expire", "no-orphan", "progress"),
			more),
		Open: func(env impls.Env) (impls.Lock, error) {
			if err := env.WantOne(); err != nil {
				return nil, err
			}
			nodes, err := redis.ConnectDefault(env)
			if err != nil {
				return nil, err
			}
			return &redisLockLock{nodes[0], env, pause, redislock.New(nodes[0].UniversalClient), newObjects[*redislock.Lock]()}, nil
		},
	}
}

type redisLockLock struct {
	redis.Node
	env    impls.Env
	pause  time.Duration
	client *redislock.Client
	holds  *objects[*redislock.Lock]
}

// asking is a retry strategy for the library. It also records the time of the next attempt.
type asking struct {
	redislock.RetryStrategy
	sent  time.Time
	tally *impls.Tally
}

// NextBackoff returns the delay before the next attempt, or 0 to stop the attempts.
func (a *asking) NextBackoff() time.Duration {
	pause := a.RetryStrategy.NextBackoff()
	a.sent = time.Now().Add(pause)
	if pause > 0 { // if the delay is 0, the library makes no further attempt
		a.tally.Attempt()
	}
	return pause
}

func (l *redisLockLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	start := time.Now()
	l.env.Tally.Attempt()
	a := &asking{redislock.LinearBackoff(l.pause), start, l.env.Tally}
	wait := req.Wait
	switch {
	case wait == 0:
		a.RetryStrategy = redislock.NoRetry()
	case wait < 0:
		wait = math.MaxInt64 // without a deadline the library would stop retrying after one lease
	}
	ctx, cancel := waiting.Limit(ctx, wait)
	defer cancel()
	got, err := l.client.Obtain(ctx, l.Key(req.Key), req.TTL, &redislock.Options{RetryStrategy: a, Token: impls.Token(l.env.Rand)})
	switch {
	case errors.Is(err, redislock.ErrNotObtained): // the library retries only after a refusal, so the last reply was a refusal
		return impls.Hold{}, fmt.Errorf("%w: %w", impls.ErrBusy, err)
	case err != nil:
		return impls.Hold{}, err
	}
	l.holds.keep(got.Token(), got)
	return impls.Hold{Grant: impls.Grant{Key: req.Key, Owner: req.Owner, Token: got.Token(), Validity: req.TTL, SentAfter: a.sent.Sub(start)}}, nil
}

func (l *redisLockLock) Release(ctx context.Context, g impls.Grant) error {
	held, _, err := l.holds.take(g)
	if err != nil {
		return err
	}
	return notHeld(held.Release(ctx), redislock.ErrLockNotHeld)
}

func (l *redisLockLock) Close() error { return l.UniversalClient.Close() }
