package impls

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisson is the lock of the Java client of that name: a hash with one field, the owner's, that counts how
// often it is held; waiting by notification; and a watchdog that sets the lease anew each third of it, which
// is started where no lease was asked for. Here the TTL of the request is that default lease. What is
// left: one server, whose replica may not know of a hold, and a process that is frozen for longer than
// the lease.
func redisson() Impl {
	return Impl{
		Name: "redisson", Store: "redis", Deployment: "single", Reentrant: true, Renews: true,
		Doc:      "Redisson's lock: a hash that counts per owner, waiting by pub/sub, a watchdog that renews",
		Notifies: true,
		Expect: together(redissonUsual(), comparedRelease(), watched(),
			under("holder-stall", together(threeViews(Holds, "while its process lives the watchdog renews in time"),
				expect(Holds, "a third into each lease, and only what is its owner's", "renewal"))),
			lateHolder("process-pause"),
			silence(),
			memoryLost("failover clock-forward server-restart eviction"),
			recovers("holder-kill", "the watchdog dies with its process, and the lease ends"),
			under("holder-abandon", expect(Breaks, "the watchdog renews for as long as its process lives", "recovery", "no-orphan")),
			survives(badWeather, "what is not known to be granted expires, and what comes late frees nobody else's"),
			survives("lost-wakeup", "a waiter waits no longer than the lease it was told of"),
			survives("failover-synced", "the replica that takes over has the hash and its lease"),
			onCluster()),
		Open: func(env Env) (Lock, error) {
			return openRedisson(env, redissonScripts{redissonAcquire, redissonRelease}, true)
		},
	}
}

// redissonUsual is what the whole family is expected to do.
func redissonUsual() []Expectation {
	return together(
		expect(Holds, "the script grants only what is free or the owner's own, in one step",
			"lease-exclusion", "mutual-exclusion", "resource-integrity"),
		expect(Holds, "a release wakes a waiter of each process, and what is forgotten expires", "no-orphan", "progress"),
		expect(Holds, "the count stands in the store, and the key is deleted when it is 0", "reentrancy"))
}

// watched is what a watchdog is expected to do for work that outlasts the lease.
func watched() []Expectation {
	return in("long-hold", expect(Holds, "while its process lives the watchdog renews in time, and only what is its owner's",
		"lease-exclusion", "mutual-exclusion", "renewal"))
}

var (
	//go:embed lua/redisson_acquire.lua
	redissonAcquireLua string
	//go:embed lua/redisson_release.lua
	redissonReleaseLua string
	//go:embed lua/redisson_extend.lua
	redissonExtendLua string

	redissonAcquire = redis.NewScript(redissonAcquireLua)
	redissonRelease = redis.NewScript(redissonReleaseLua)
	redissonExtend  = redis.NewScript(redissonExtendLua)
)

// redissonScripts are what the members of the family differ in.
type redissonScripts struct{ acquire, release *redis.Script }

// redissonLock is the whole family.
type redissonLock struct {
	node
	env      Env
	id       string // of this process, a part of the owner's field
	scripts  redissonScripts
	news     *subscriptions
	renewals *renewals // by hold; nil: no watchdog

	mu   sync.Mutex
	held map[string]*watchedHold // what the watchdogs are for
}

// watchedHold is an outermost hold of the process and those within it.
type watchedHold struct {
	depth int
	lost  chan struct{}
}

var (
	_ Lock   = (*redissonLock)(nil)
	_ Prober = (*redissonLock)(nil)
)

func openRedisson(env Env, scripts redissonScripts, watchdog bool) (Lock, error) {
	if err := CheckParams(env.Params); err != nil {
		return nil, err
	}
	n, err := openNode(env)
	if err != nil {
		return nil, err
	}
	l := &redissonLock{node: n, env: env, id: token(env.Rand), scripts: scripts,
		news: newSubscriptions(n.UniversalClient), held: map[string]*watchedHold{}}
	if watchdog {
		l.renewals = newRenewals()
	}
	return l, nil
}

func (l *redissonLock) field(owner string) string { return l.id + ":" + owner }
func (l *redissonLock) channel(key string) string {
	return "redisson_lock__channel:{" + l.key(key) + "}"
}

func (l *redissonLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	start := time.Now()
	if req.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.Wait)
		defer cancel()
	}
	hold, left, err := l.try(ctx, req, start)
	if !errors.Is(err, ErrBusy) || req.Wait == 0 {
		return hold, err
	}
	news := l.news.join(ctx, l.channel(req.Key))
	if news == nil {
		return Hold{}, err // the context is over, and the last answer was no
	}
	defer l.news.leave(news)
	// A release before the subscription took effect told nobody here. Hence the next try comes after it.
	for on := news.confirmed(ctx, left); on; on = news.wait(ctx, left) {
		hold, left, err = l.try(ctx, req, start)
		if err == nil {
			return hold, nil
		}
		if !errors.Is(err, ErrBusy) {
			news.wake() // it may have been woken, and cannot use it: another may
			return Hold{}, err
		}
		l.env.Tally.Wasted()
	}
	return Hold{}, err
}

// try asks once. Where the answer is no, it tells how long the other's lease has left.
func (l *redissonLock) try(ctx context.Context, req Request, start time.Time) (Hold, time.Duration, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, 0, err
	}
	g := Grant{Key: req.Key, Owner: req.Owner, Token: l.field(req.Owner), SentAfter: time.Since(start), Validity: req.TTL}
	l.env.Tally.Attempt()
	reply, err := l.scripts.acquire.Run(ctx, l.UniversalClient, []string{l.key(g.Key)}, req.TTL.Milliseconds(), g.Token).Int64Slice()
	switch {
	case err != nil:
		return Hold{}, 0, err
	case len(reply) != 2:
		return Hold{}, 0, fmt.Errorf("the acquire script answered %v", reply)
	case reply[0] == 0:
		return Hold{}, leaseLeft(reply[1]), ErrBusy
	}
	g.Depth = int(reply[0])
	return Hold{Grant: g, Lost: l.watch(g, start)}, 0, nil
}

// leaseLeft reads what PTTL answered: negative is for ever, as for a key without expiry (-1). One that is gone (-2) has no
// time left: an emulator's clock goes on within a script, so that a lease can end between two commands of it.
func leaseLeft(ms int64) time.Duration {
	if ms == -2 {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// watch keeps what was granted alive: one watchdog for an outermost hold and those within it. It returns
// how they learn of their loss, nil without a watchdog.
func (l *redissonLock) watch(g Grant, start time.Time) <-chan struct{} {
	if l.renewals == nil {
		return nil
	}
	name := holdName(g)
	l.mu.Lock()
	defer l.mu.Unlock()
	h, within := l.held[name]
	if within && g.Depth > 1 {
		h.depth = g.Depth
		return h.lost
	}
	if within {
		close(h.lost) // the store began to count anew, so what stood there had gone
	}
	h = &watchedHold{g.Depth, make(chan struct{})}
	l.held[name] = h
	l.renewals.start(name, g.Validity/3, func() bool { return l.extend(g, h, start) })
	return h.lost
}

// holdName tells the holds of a process apart: those of one owner on one key are one.
func holdName(g Grant) string { return g.Token + " " + g.Key }

// extend renews once; false where the hold is lost. An error that is not definite may be a passing one.
func (l *redissonLock) extend(g Grant, h *watchedHold, start time.Time) bool {
	sent := time.Since(start)
	err := notHeldIfNone(redissonExtend.Run(context.Background(), l.UniversalClient, []string{l.key(g.Key)}, g.Validity.Milliseconds(), g.Token).Int64())
	l.env.renewed(g, sent, err)
	if !errors.Is(err, ErrNotHeld) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[holdName(g)] == h {
		delete(l.held, holdName(g))
		close(h.lost)
	}
	return false
}

// Release stops the watchdog before the last release is sent: after it there is nothing to renew, and
// where its answer is lost the key is left to expire.
func (l *redissonLock) Release(ctx context.Context, g Grant) error {
	if l.leftLast(g) {
		if err := l.renewals.stop(ctx, holdName(g)); err != nil {
			return err
		}
	}
	err := l.scripts.release.Run(ctx, l.UniversalClient, []string{l.key(g.Key), l.channel(g.Key)}, g.Validity.Milliseconds(), g.Token).Err()
	if errors.Is(err, redis.Nil) {
		return ErrNotHeld
	}
	return err
}

// leftLast counts a release, and tells whether a watchdog has nothing left to watch.
func (l *redissonLock) leftLast(g Grant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.held[holdName(g)]
	if !ok {
		return false
	}
	if h.depth--; h.depth > 0 {
		return false
	}
	delete(l.held, holdName(g))
	return true
}

// Probe asks the server for the field of a hash and the key's remaining time.
func (l *redissonLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	fields, err := l.HKeys(ctx, l.key(key)).Result()
	if err != nil || len(fields) == 0 {
		return "", 0, err
	}
	return l.timeLeft(ctx, key, fields[0])
}

// Close stops watchdogs and subscriptions and waits for them; what is held is left to expire.
func (l *redissonLock) Close() error {
	if l.renewals != nil {
		l.renewals.closeAll()
	}
	l.news.close()
	errs := []error{l.UniversalClient.Close()} // what is in flight ends with its connection
	if l.renewals != nil {
		errs = append(errs, l.renewals.wait())
	}
	return errors.Join(append(errs, l.news.ended())...)
}
