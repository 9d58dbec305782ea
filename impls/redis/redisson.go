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

// Redisson is the lock of the Java client Redisson. Its watchdog renews holds that were acquired without a lease. The
// watchdog's lease is 30 s by default in Redisson. This implementation uses the TTL of the request instead. The lock is
// safe only on one server without failover to a lagging replica. No process may be paused beyond the lease.
func Redisson() impls.Impl {
	return impls.Impl{
		Name: "redisson", Store: "redis", Deployment: "single", Reentrant: true, Renews: true, ReportsLoss: true,
		Doc:      "Redisson's lock: a hash that counts per owner, waiting by pub/sub, a watchdog that renews",
		Notifies: true, SkipsDead: true, LocalOwners: true,
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), expect.Tells(), redissonUsual(), expect.ComparedRelease(), expect.Backed(), watched(),
			expect.Under("holder-stall", expect.Excludes("while its process lives the watchdog renews in time"),
				expect.Holds("a third into each lease, and only for its owner", "renewal")),
			expect.LateHolder("process-pause"),
			silence(),
			expect.MemoryLost("failover clock-forward server-restart eviction"),
			expect.Recovers("holder-kill", "the watchdog ends with its process, and the lease expires"),
			expect.Under("holder-abandon", expect.Violated("the watchdog renews for as long as its process lives", "recovery", "no-orphan")),
			expect.Survives(badWeather, "an unknown grant expires, and a late release frees no other client's key"),
			expect.Survives("lost-wakeup", "a waiter tries again when the holder's lease expires"),
			expect.Survives("failover-synced", "the promoted replica has the hash and its lease"),
			onCluster()),
		Open: openRedisson(redissonAcquire, redissonRelease, true),
	}
}

func redissonUsual() []impls.Expectation {
	return slices.Concat(
		expect.Excludes("the script grants only a free or the owner's key, in one step"),
		expect.Holds("a release wakes a waiter of each process, and other keys expire", "no-orphan", "progress"),
		expect.Holds("the count is in the store, and the key is deleted when it is 0", "reentrancy"))
}

// watched returns expectations for holds that last longer than the lease. They apply to a lock with a watchdog.
func watched() []impls.Expectation {
	return expect.In("long-hold", expect.Holds("while its process lives the watchdog renews in time, and only for its owner",
		"lease-exclusion", "mutual-exclusion", "renewal"))
}

// redissonLock implements all variants of Redisson's lock.
type redissonLock struct {
	Node
	env      impls.Env
	id       string // id of this process, which is part of the hash field
	acquire  *redis.Script
	release  *redis.Script
	news     *subscriptions
	watchdog bool
	renewals *renewals // running watchdogs, by name of the hold
}

var _ impls.Prober = (*redissonLock)(nil)

// openRedisson returns the Open function of a variant. The variants differ in their scripts, and in whether they renew.
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
	patient, limit, done := waiting.Timeouts(ctx, req.Wait)
	defer done()
	hold, left, err := l.try(limit, req, start)
	if !errors.Is(err, impls.ErrBusy) || req.Wait == 0 {
		return hold, err
	}
	news := l.news.join(patient, l.channel(req.Key))
	if news == nil {
		return impls.Hold{}, err // the request was refused, and the context has ended
	}
	defer l.news.leave(news)
	// A release before the confirmation did not notify this waiter. The waiter therefore tries again after the
	// confirmation.
	for on := news.await(patient, news.ready, left); on; on = news.await(patient, news.woken, left) {
		hold, left, err = l.try(limit, req, start)
		if err == nil {
			return hold, nil
		}
		if !errors.Is(err, impls.ErrBusy) {
			news.wake() // wakes another waiter, in case this one consumed a notification
			return impls.Hold{}, err
		}
		l.env.Tally.Wasted()
	}
	return impls.Hold{}, err
}

// try requests the lock once. If the request is refused, try returns the remaining lease of the holder.
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
		// PTTL answers -1 if the key has no expiry, which is returned as a negative time. It answers -2 if the key is gone.
		// The clock of an emulator advances within a script, so the key can expire between two commands.
		left := time.Duration(reply[1]) * time.Millisecond
		if reply[1] == -2 {
			left = 0
		}
		return impls.Hold{}, left, impls.ErrBusy
	}
	g.Depth = int(reply[0])
	hold := impls.Hold{Grant: g}
	if l.watchdog { // an outermost hold and its nested holds have the same token
		hold.Lost = l.renewals.start(holdName(g), g, start, func(ctx context.Context) error {
			return impls.Affected(redissonExtend.Run(ctx, l.UniversalClient, []string{l.Key(g.Key)}, g.Validity.Milliseconds(), g.Token).Int64())
		})
	}
	return hold, 0, nil
}

// holdName returns the name of a hold in this process. Nested holds have the name of the outermost hold.
func holdName(g impls.Grant) string { return g.Token + " " + g.Key }

// Release stops the watchdog before it sends the release of the outermost hold. If the release does not reach the
// server, the key expires, because nothing renews it.
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

// Probe returns the holder of a key and the remaining lease. The holder is the field name in the key's Redis hash.
func (l *redissonLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	fields, err := l.HKeys(ctx, l.Key(key)).Result()
	if err != nil || len(fields) == 0 {
		return "", 0, err
	}
	return l.timeLeft(ctx, key, fields[0])
}

// Close stops watchdogs and subscriptions, and waits until they have stopped. The holds then expire.
func (l *redissonLock) Close() error {
	l.news.close()
	return errors.Join(l.renewals.close(l.UniversalClient), endedSoon(&l.news.reading))
}
