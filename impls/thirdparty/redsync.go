package thirdparty

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/redis"
)

// Redsync is the library github.com/go-redsync/redsync at its defaults: RedLock, on any number of servers. The library
// tries 32 times, 50 to 250 ms apart, even if the caller would wait longer.
//
// The library's error does not distinguish a refusal from a missing answer. redSyncImpl therefore observes the answers on
// the connections.
func Redsync() impls.Impl {
	return redSyncImpl("redsync", 32, 50*time.Millisecond, 250*time.Millisecond,
		"go-redsync/redsync v4 at its defaults: SET NX on a majority, 32 tries, 50 to 250 ms apart")
}

// RedsyncTuned is redsync for short holds under contention. It tries every 2 to 10 ms, until the caller's timeout.
func RedsyncTuned() impls.Impl {
	return redSyncImpl("redsync-tuned", math.MaxInt32, 2*time.Millisecond, 10*time.Millisecond,
		"go-redsync/redsync v4 for short holds: tries until the caller's timeout, 2 to 10 ms apart")
}

func redSyncImpl(name string, tries int, least, most time.Duration, doc string) impls.Impl {
	const because = "SET NX is atomic on the server, and the value of each lock is random"
	return impls.Impl{
		Name: name, Store: "redis", Deployment: "single", ThirdParty: true, BackOff: most, Doc: doc,
		Expect: slices.Concat(expect.Excludes(because),
			expect.Holds("its scripts delete only the owner's keys, and other keys expire", "no-orphan", "progress"),
			leased(expect.Violated), expect.PromiseOutlived()),
		Open: func(env impls.Env) (impls.Lock, error) {
			if len(env.Nodes) == 0 {
				return nil, errors.New("want at least 1 server, got 0")
			}
			nodes, err := redis.ConnectDefault(env)
			l := &redSyncLock{Nodes: nodes, env: env, tries: tries, least: least, most: most}
			l.life, l.end = context.WithCancel(context.Background())
			for _, n := range nodes {
				l.pools = append(l.pools, goredis.NewPool(n.UniversalClient))
			}
			return l, err
		},
	}
}

// leased returns the expectations of a library with a lease on one Redis server and no renewal. heardOut is the expected
// result if the client reads the grant after the caller's timeout.
func leased(heardOut func(string, ...string) []impls.Expectation) []impls.Expectation {
	return slices.Concat(
		expect.Under("cancelled-acquire",
			expect.Holds("a late answer is still a grant, which counts from its request", "lease-exclusion", "no-orphan", "progress"),
			heardOut("go-redis reads an answer after the context has ended (ContextTimeoutEnabled), with little left of the lease",
				"mutual-exclusion", "resource-integrity")),
		expect.LateHolder("holder-stall process-pause"),
		expect.MemoryLost("failover server-restart eviction"),
		expect.Recovers("holder-kill holder-abandon", "the key expires without its holder"),
		expect.Survives("slow-network lost-reply partition partition-one-way delayed-release server-pause", "an unknown grant is released or expires, and a late release frees no other client's key"),
		expect.ComparedRelease(), expect.Backed())
}

type redSyncLock struct {
	redis.Nodes
	env   impls.Env
	pools []redsyncredis.Pool
	tries int
	least time.Duration // minimum delay between two attempts
	most  time.Duration
	life  context.Context
	end   context.CancelFunc
}

// driftFactor is redsync's default allowance for clock drift, as a fraction of the lease.
const driftFactor = 0.01

func (l *redSyncLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	start := time.Now()
	l.env.Tally.Attempt()
	var pools []redsyncredis.Pool
	var heard []*answered
	for _, p := range l.pools {
		a := &answered{Pool: p}
		pools, heard = append(pools, a), append(heard, a)
	}
	mine := impls.Token(l.env.Rand)
	m := redsync.New(pools...).NewMutex(l.env.Prefix+req.Key, redsync.WithExpiry(req.TTL), redsync.WithTries(l.tries),
		redsync.WithRetryDelayFunc(l.retryDelay), redsync.WithGenValueFunc(func() (string, error) { return mine, nil }))
	wait := req.Wait
	if wait <= 0 {
		wait = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)() // without this, the library would retry on closed connections
	lock := m.LockContext
	if req.Wait == 0 {
		lock = m.TryLockContext
	}
	switch err := lock(ctx); {
	case err != nil && l.life.Err() != nil:
		return impls.Hold{}, impls.ErrClosed
	case err != nil && slices.ContainsFunc(heard, func(a *answered) bool { return a.unread.Load() || a.granted.Load() }):
		return impls.Hold{}, err
	case err != nil: // each server has refused the lock, or has undone its grant
		return impls.Hold{}, fmt.Errorf("%w: %w", impls.ErrBusy, err)
	}
	// The library's method Until returns the time of the granted attempt, plus the lease, minus the allowance for clock
	// drift.
	validity := req.TTL - time.Duration(float64(req.TTL)*driftFactor)
	return impls.Hold{Grant: impls.Grant{Key: req.Key, Owner: req.Owner, Token: m.Value(), Validity: validity,
		SentAfter: max(0, m.Until().Add(-validity).Sub(start))}}, nil
}

func (l *redSyncLock) retryDelay(int) time.Duration {
	l.env.Tally.Attempt()
	return l.least + time.Duration(l.env.Rand.Int64N(int64((l.most-l.least)/time.Millisecond)))*time.Millisecond
}

// Release releases a grant. The library needs only the value of the key, so any mutex can release the grant.
func (l *redSyncLock) Release(ctx context.Context, g impls.Grant) error {
	_, err := redsync.New(l.pools...).NewMutex(l.env.Prefix+g.Key, redsync.WithValue(g.Token)).UnlockContext(ctx)
	var taken *redsync.ErrTaken
	var failed *redsync.RedisError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &taken), errors.Is(err, redsync.ErrLockAlreadyExpired) && !errors.As(err, &failed):
		return fmt.Errorf("%w: %w", impls.ErrNotHeld, err)
	}
	return err
}

func (l *redSyncLock) Close() error {
	l.end()
	return l.Nodes.Close()
}

// answered wraps the connection pool of one server during one acquire. It records whether the server granted the lock,
// and whether an answer was not read.
type answered struct {
	redsyncredis.Pool
	unread  atomic.Bool // whether a request that may have reached the server got no reply
	granted atomic.Bool // whether the server granted the lock and still has the grant
}

func (a *answered) Get(ctx context.Context) (redsyncredis.Conn, error) {
	c, err := a.Pool.Get(ctx)
	return overheardConn{c, a}, err
}

type overheardConn struct {
	redsyncredis.Conn
	said *answered
}

func (c overheardConn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	granted, err := c.Conn.SetNX(name, value, expiry)
	switch {
	case granted:
		c.said.granted.Store(true)
	case err != nil && !errors.Is(err, syscall.ECONNREFUSED):
		c.said.unread.Store(true)
	}
	return granted, err
}

func (c overheardConn) Eval(script *redsyncredis.Script, args ...any) (any, error) {
	answer, err := c.Conn.Eval(script, args...)
	if err == nil {
		c.said.granted.Store(false)
	}
	return answer, err
}
