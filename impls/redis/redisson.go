package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// Redisson is the lock of the Java client of that name. Its watchdog starts when no lease is asked for; here the TTL of the
// request is that default lease. It relies on one server, whose replica may not know of a hold, and on processes that are not
// paused beyond the lease.
func Redisson() impls.Impl {
	return impls.Impl{
		Name: "redisson", Store: "redis", Deployment: "single", Reentrant: true, Renews: true,
		Doc:      "Redisson's lock: a hash that counts per owner, waiting by pub/sub, a watchdog that renews",
		Notifies: true,
		Expect: slices.Concat(redissonUsual(), expect.ComparedRelease(), watched(),
			expect.Under("holder-stall", expect.Excludes("while its process lives the watchdog renews in time"),
				expect.Holds("a third into each lease, and only what is its owner's", "renewal")),
			expect.LateHolder("process-pause"),
			silence(),
			expect.MemoryLost("failover clock-forward server-restart eviction"),
			expect.Recovers("holder-kill", "the watchdog dies with its process, and the lease ends"),
			expect.Under("holder-abandon", expect.Violated("the watchdog renews for as long as its process lives", "recovery", "no-orphan")),
			expect.Survives(badWeather, "what is not known to be granted expires, and what comes late frees nobody else's"),
			expect.Survives("lost-wakeup", "a waiter waits no longer than the lease it was told of"),
			expect.Survives("failover-synced", "the replica that takes over has the hash and its lease"),
			onCluster()),
		Open: openRedisson(redissonAcquire, redissonRelease, true),
	}
}

func redissonUsual() []impls.Expectation {
	return slices.Concat(
		expect.Excludes("the script grants only what is free or the owner's own, in one step"),
		expect.Holds("a release wakes a waiter of each process, and what is forgotten expires", "no-orphan", "progress"),
		expect.Holds("the count stands in the store, and the key is deleted when it is 0", "reentrancy"))
}

// watched is what a watchdog is expected to do for work that outlasts the lease.
func watched() []impls.Expectation {
	return expect.In("long-hold", expect.Holds("while its process lives the watchdog renews in time, and only what is its owner's",
		"lease-exclusion", "mutual-exclusion", "renewal"))
}

// redissonLock is the whole family.
type redissonLock struct {
	Node
	env      impls.Env
	id       string // of this process, a part of the owner's field
	acquire  *redis.Script
	release  *redis.Script
	news     *subscriptions
	watchdog bool
	renewals *renewals // the watchdogs, by hold
}

var _ impls.Prober = (*redissonLock)(nil)

// openRedisson returns how to open a member of the family, which differ in their scripts and in whether they renew.
func openRedisson(acquire, release *redis.Script, watchdog bool) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		n, err := openNode(env)
		if err != nil {
			return nil, err
		}
		return &redissonLock{Node: n, env: env, id: impls.Token(env.Rand), acquire: acquire, release: release,
			news: newSubscriptions(n.UniversalClient), watchdog: watchdog, renewals: newRenewals(env, false)}, nil
	}
}

func (l *redissonLock) channel(key string) string {
	return "redisson_lock__channel:{" + l.Key(key) + "}"
}

func (l *redissonLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	start := time.Now()
	ctx, cancel := waiting.Limit(ctx, req.Wait)
	defer cancel()
	hold, left, err := l.try(ctx, req, start)
	if !errors.Is(err, impls.ErrBusy) || req.Wait == 0 {
		return hold, err
	}
	news := l.news.join(ctx, l.channel(req.Key))
	if news == nil {
		return impls.Hold{}, err // the context is over, and the last answer was no
	}
	defer l.news.leave(news)
	// A release before the subscription took effect told nobody here. Hence the next try comes after it.
	for on := news.await(ctx, news.ready, left); on; on = news.await(ctx, news.woken, left) {
		hold, left, err = l.try(ctx, req, start)
		if err == nil {
			return hold, nil
		}
		if !errors.Is(err, impls.ErrBusy) {
			news.wake() // it may have been woken, and cannot use it: another may
			return impls.Hold{}, err
		}
		l.env.Tally.Wasted()
	}
	return impls.Hold{}, err
}

// try asks once. Where the answer is no, it tells how long the other's lease has left.
func (l *redissonLock) try(ctx context.Context, req impls.Request, start time.Time) (impls.Hold, time.Duration, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, 0, err
	}
	g := impls.Grant{Key: req.Key, Owner: req.Owner, Token: l.id + ":" + req.Owner, SentAfter: time.Since(start), Validity: req.TTL}
	l.env.Tally.Attempt()
	reply, err := l.acquire.Run(ctx, l.UniversalClient, []string{l.Key(g.Key)}, req.TTL.Milliseconds(), g.Token).Int64Slice()
	switch {
	case err != nil:
		return impls.Hold{}, 0, err
	case len(reply) != 2:
		return impls.Hold{}, 0, fmt.Errorf("the acquire script answered %v", reply)
	case reply[0] == 0:
		// What PTTL answered: negative is for ever, as for a key without expiry (-1). One that is gone (-2) has no time
		// left: an emulator's clock goes on within a script, so that a lease can end between two commands of it.
		left := time.Duration(reply[1]) * time.Millisecond
		if reply[1] == -2 {
			left = 0
		}
		return impls.Hold{}, left, impls.ErrBusy
	}
	g.Depth = int(reply[0])
	hold := impls.Hold{Grant: g}
	if l.watchdog { // one for an outermost hold and those within it
		hold.Lost = l.renewals.start(holdName(g), g, start, func(ctx context.Context) error {
			return impls.Affected(redissonExtend.Run(ctx, l.UniversalClient, []string{l.Key(g.Key)}, g.Validity.Milliseconds(), g.Token).Int64())
		})
	}
	return hold, 0, nil
}

// holdName tells the holds of a process apart: those of one owner on one key are one.
func holdName(g impls.Grant) string { return g.Token + " " + g.Key }

// Release stops the watchdog before the last release is sent; if its answer is lost the key is left to expire.
func (l *redissonLock) Release(ctx context.Context, g impls.Grant) error {
	if err := l.renewals.stop(ctx, holdName(g)); err != nil {
		return err
	}
	err := l.release.Run(ctx, l.UniversalClient, []string{l.Key(g.Key), l.channel(g.Key)}, g.Validity.Milliseconds(), g.Token).Err()
	if errors.Is(err, redis.Nil) {
		return impls.ErrNotHeld
	}
	return err
}

// Probe asks the server for the field of a hash and the key's remaining time.
func (l *redissonLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	fields, err := l.HKeys(ctx, l.Key(key)).Result()
	if err != nil || len(fields) == 0 {
		return "", 0, err
	}
	return l.timeLeft(ctx, key, fields[0])
}

// Close stops watchdogs and subscriptions and waits for them; what is held is left to expire.
func (l *redissonLock) Close() error {
	l.news.close()
	return errors.Join(l.renewals.close(l.UniversalClient), endedSoon(&l.news.reading))
}
