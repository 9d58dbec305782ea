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

// Redsync is github.com/go-redsync/redsync at its defaults: RedLock, on as many servers as it is given. It asks 32 times, 50
// to 250 ms apart, and then gives up, however long its caller would wait.
//
// Its error does not tell a refusal from an answer that was not read, so its connections are watched here.
func Redsync() impls.Impl {
	return redSyncImpl("redsync", 32, 50*time.Millisecond, 250*time.Millisecond,
		"go-redsync/redsync v4 at its defaults: SET NX on a majority, asked for 32 times, 50 to 250 ms apart")
}

// RedsyncTuned is redsync for a contended lock that is held for a moment: it asks again soon, until its caller gives up.
func RedsyncTuned() impls.Impl {
	return redSyncImpl("redsync-tuned", math.MaxInt32, 2*time.Millisecond, 10*time.Millisecond,
		"go-redsync/redsync v4 for short holds: asked for until the caller gives up, 2 to 10 ms apart")
}

func redSyncImpl(name string, tries int, least, most time.Duration, doc string) impls.Impl {
	const because = "SET NX is atomic on the server, and the value of each lock is random"
	return impls.Impl{
		Name: name, Store: "redis", Deployment: "single", Peer: true, BackOff: most, Doc: doc,
		Expect: slices.Concat(expect.Excludes(because),
			expect.Holds("its scripts delete nobody else's key, and what is forgotten expires", "no-orphan", "progress"),
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

// leased expects of a lease on one Redis that its library neither renews nor watches. Its client reads an answer even if its
// caller has given up.
func leased(heardOut func(string, ...string) []impls.Expectation) []impls.Expectation {
	return slices.Concat(
		expect.Under("cancelled-acquire",
			expect.Holds("what comes late is granted all the same, and counts from its sending", "lease-exclusion", "no-orphan", "progress"),
			heardOut("go-redis hears an answer out though the context is over (ContextTimeoutEnabled), and what is left of the lease is short",
				"mutual-exclusion", "resource-integrity")),
		expect.LateHolder("holder-stall process-pause"),
		expect.MemoryLost("failover server-restart eviction"),
		expect.Recovers("holder-kill holder-abandon", "the key expires with its lease, whatever became of its holder"),
		expect.Survives("slow-network lost-reply partition partition-one-way delayed-release server-pause", "what is not known to be granted is given back or expires, and what comes late frees nobody else's"),
		expect.ComparedRelease())
}

type redSyncLock struct {
	redis.Nodes
	env   impls.Env
	pools []redsyncredis.Pool
	tries int
	least time.Duration // the pauses between two attempts
	most  time.Duration
	life  context.Context
	end   context.CancelFunc
}

// driftFactor is how much of a lease redsync takes off for the drift of clocks, by default.
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
		redsync.WithRetryDelayFunc(l.again), redsync.WithGenValueFunc(func() (string, error) { return mine, nil }))
	wait := req.Wait
	if wait <= 0 {
		wait = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)() // else it would go on asking by what is closed
	lock := m.LockContext
	if req.Wait == 0 {
		lock = m.TryLockContext
	}
	switch err := lock(ctx); {
	case err != nil && l.life.Err() != nil:
		return impls.Hold{}, impls.ErrClosed
	case err != nil && slices.ContainsFunc(heard, func(a *answered) bool { return a.unread.Load() || a.granted.Load() }):
		return impls.Hold{}, err
	case err != nil: // every server that was asked refused, or took back what it had granted
		return impls.Hold{}, fmt.Errorf("%w: %w", impls.ErrBusy, err)
	}
	// It says until when, which is the time of the attempt that won and the lease less the drift.
	validity := req.TTL - time.Duration(float64(req.TTL)*driftFactor)
	return impls.Hold{Grant: impls.Grant{Key: req.Key, Owner: req.Owner, Token: m.Value(), Validity: validity,
		SentAfter: max(0, m.Until().Add(-validity).Sub(start))}}, nil
}

func (l *redSyncLock) again(int) time.Duration {
	l.env.Tally.Attempt()
	return l.least + time.Duration(l.env.Rand.Int64N(int64((l.most-l.least)/time.Millisecond)))*time.Millisecond
}

// Release needs no more than the value of the lock.
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

// answered is what one server said to one acquire, as far as it is not known to be over.
type answered struct {
	redsyncredis.Pool
	unread  atomic.Bool // something was asked, and the answer was not read
	granted atomic.Bool // it said yes, and was not told to forget it
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
