package thirdparty

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/redis"
)

// Rueidislock is the library github.com/redis/rueidis/rueidislock with its default options. A lock consists of three keys, and a
// holder must set two of them. The number of servers does not matter. Redis notifies waiters and the holder of each change of a
// key (client-side caching). A lease is extended when half of it has passed.
//
// The library promises a context that ends when the lock is lost. It does not report extensions, so the validity of a grant is
// unbounded. Its release returns nothing.
func Rueidislock() impls.Impl {
	return rueidisLockImpl("rueidislock", "rueidislock v1.0.79 at its defaults: two of three keys, renewed automatically, waiting by client-side caching",
		func(*rueidislock.LockerOption) {},
		expect.Under("slow-network", expect.Excludes("an unknown grant is released or expires"),
			expect.Observed(rueidisForgets, "progress")))
}

// RueidislockTuned is rueidislock with the settings that its documentation recommends for one server with Redis 7.0.5 or
// later.
func RueidislockTuned() impls.Impl {
	return rueidisLockImpl("rueidislock-tuned", "rueidislock v1.0.79 for one Redis: one key (KeyMajority 1), without notices of its own changes (NoLoopTracking)",
		func(o *rueidislock.LockerOption) { o.KeyMajority, o.NoLoopTracking = 1, true },
		expect.Under("slow-network", expect.Violated(rueidisForgets, "progress")))
}

// rueidisForgets is the reason why clients may wait forever for a free lock. The library may delete a key without a notice to the
// waiters.
const rueidisForgets = "an attempt that takes longer than 20 ms (TryNextAfter) is abandoned and its key deleted, possibly without a notice: all clients wait for a free lock"

func rueidisLockImpl(name, doc string, tune func(*rueidislock.LockerOption), slow []impls.Expectation) impls.Impl {
	const notKnown = "an unknown grant is released or expires"
	return impls.Impl{
		Name: name, Store: "redis", Deployment: "single", ThirdParty: true, Tracks: true, ReportsLoss: true, Doc: doc,
		Expect: slices.Concat(expect.Excludes("a script sets a free key, and the value of each lock is random"),
			expect.Holds("a release deletes the keys, and other keys expire", "no-orphan"),
			expect.Observed(rueidisForgets, "progress"),
			expect.In("misuse", expect.Holds("a release deletes only the owner's keys", "owner-release")),
			expect.In("long-hold", expect.Holds("a lease is extended at its half", "lease-exclusion", "mutual-exclusion")),
			expect.Under("holder-stall", expect.Excludes("its lease is extended as long as its process lives")),
			expect.Under("process-pause", expect.Violated("a paused process cannot end its context", append([]string{"backed-promise"}, expect.Exclusion...)...)),
			expect.Under("none holder-stall holder-kill", expect.Holds("the keys are set before the context is returned", "backed-promise")),
			expect.Recovers("holder-kill", "the lease is not extended any more, and expires"),
			expect.Under("holder-abandon", expect.Violated("the lease is extended as long as its process lives", "recovery", "no-orphan")),
			slow,
			expect.Under("lost-reply partition partition-one-way cancelled-acquire delayed-release server-pause", expect.Excludes(notKnown),
				expect.Holds(notKnown, "no-orphan"), expect.Observed(rueidisForgets, "progress")),
			expect.Under("server-restart failover",
				expect.Observed("the next client is granted and the holder's context ends within a few milliseconds of each other", "lease-exclusion", "mutual-exclusion"),
				expect.Holds("the loss is detected before the work is written", "resource-integrity"))),
		Open: func(env impls.Env) (impls.Lock, error) { return openRueidisLock(env, tune) },
	}
}

// rueidisLockLock has one locker of the library for each lease duration.
//
// rueidisLockLock does not implement Prober, because the library does not expose the values of its keys.
type rueidisLockLock struct {
	env  impls.Env
	tune func(*rueidislock.LockerOption)
	to   rueidis.ClientOption
	life context.Context
	end  context.CancelFunc

	holds *objects[rueidisHold]

	mu      sync.Mutex // guards the fields below; never held across a command
	lockers map[time.Duration]*connection
	closed  bool
}

type rueidisHold struct {
	give   context.CancelFunc
	end    context.CancelFunc // cancels the acquire's context
	notice func() bool        // prevents Hold.Lost from being closed; returns false if it is already closed
}

func openRueidisLock(env impls.Env, tune func(*rueidislock.LockerOption)) (impls.Lock, error) {
	if err := env.WantOne(); err != nil {
		return nil, err
	}
	at, err := redis.Options(env, env.Nodes[0])
	if err != nil {
		return nil, err
	}
	to := rueidis.ClientOption{InitAddress: []string{at.Addr}, Username: at.Username, Password: at.Password, SelectDB: at.DB, TLSConfig: at.TLSConfig}
	if by := at.Dialer; by != nil {
		to.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return by(ctx, "tcp", addr)
		}
	}
	l := &rueidisLockLock{env: env, tune: tune, to: to, holds: newObjects[rueidisHold](), lockers: map[time.Duration]*connection{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l, nil
}

// connection connects to Redis at the first call of open. Every call of open returns the same Locker, which is the library's
// client, or the same error.
type connection struct {
	open func() (rueidislock.Locker, error)
}

func (l *rueidisLockLock) locker(ttl time.Duration) (rueidislock.Locker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.lockers[ttl]
	switch {
	case l.closed:
		return nil, impls.ErrClosed
	case c == nil:
		o := rueidislock.LockerOption{KeyPrefix: l.env.Prefix + "rueidislock", ClientOption: l.to, KeyValidity: ttl}
		l.tune(&o)
		c = &connection{sync.OnceValues(func() (rueidislock.Locker, error) { return rueidislock.NewLocker(o) })}
		l.lockers[ttl] = c
	}
	l.mu.Unlock()
	made, err := c.open()
	l.mu.Lock()
	if err != nil && l.lockers[ttl] == c {
		delete(l.lockers, ttl) // the next acquire tries to connect again
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return made, nil
}

func (l *rueidisLockLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	locker, err := l.locker(req.TTL)
	if err != nil {
		return impls.Hold{}, err
	}
	w := newAttempt(l.life, ctx, req.Wait)
	ask := locker.WithContext
	if req.Wait == 0 {
		ask = locker.TryWithContext
	}
	life, give, err := ask(w, req.Key)
	switch {
	case errors.Is(err, rueidislock.ErrNotLocked):
		w.endAbandoned(nil)
		return impls.Hold{}, fmt.Errorf("%w: %w", impls.ErrBusy, err)
	case err != nil: // the library has already released its keys
		return impls.Hold{}, w.endAbandoned(err)
	case !w.granted():
		give()
		return impls.Hold{}, w.endAbandoned(context.Cause(w))
	}
	g := impls.Grant{Key: req.Key, Owner: req.Owner, Token: impls.Token(l.env.Rand), Validity: impls.Unbounded}
	lost := make(chan struct{})
	l.holds.keep(g.Token, rueidisHold{give, w.end, context.AfterFunc(life, func() { close(lost) })})
	return impls.Hold{Grant: g, Lost: lost}, nil
}

var errEnded = errors.New("its context had ended before the release")

// Release starts the deletion of the keys and returns without waiting, because the library does not report the result. A
// second release returns ErrNotHeld.
func (l *rueidisLockLock) Release(_ context.Context, g impls.Grant) error {
	h, first, _ := l.holds.take(g)
	if !first {
		return fmt.Errorf("%w: it is released", impls.ErrNotHeld)
	}
	held := h.notice() // stop the report of a loss first, because calling h.give also ends the context that triggers the report
	h.give()
	h.end()
	if !held {
		return errEnded
	}
	return nil
}

// Close closes the connections before it ends the contexts of the holds, so that the library cannot release the holds.
func (l *rueidisLockLock) Close() error {
	l.mu.Lock()
	l.closed = true
	lockers := l.lockers
	l.lockers = nil
	l.mu.Unlock()
	for _, c := range lockers {
		if locker, err := c.open(); err == nil {
			locker.Close()
		}
	}
	l.end()
	return nil
}
