package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetIFEQ is a lock without scripts, for the servers that have conditional commands: DELEX (Redis 8.4) or DELIFEQ (Valkey 9) releases,
// and SET with IFEQ (Redis 8.4, Valkey 8.1) renews. On other servers it falls back to scripts, which do the same.
func SetIFEQ() impls.Impl {
	return impls.Impl{
		Name: "set-ifeq", Store: "redis", Deployment: "single", Renews: true, ReportsLoss: true, BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a token, renewed by SET IFEQ PX and released by DELEX or DELIFEQ, or by scripts on older servers",
		Expect: slices.Concat(
			expect.Answers(), expect.Prompt(), expect.Tells(), expect.ComparedRelease(), expect.Backed(), watched(),
			expect.Excludes("SET NX is atomic, and the key is renewed and deleted only while it has the token"),
			expect.Holds("every holder deletes its key, and other keys expire", "no-orphan", "progress"),
			expect.Under("holder-stall", expect.Excludes("while its process lives the watchdog renews in time"),
				expect.Holds("a third into each lease, and only the key with its token", "renewal")),
			expect.LateHolder("process-pause"),
			silence(),
			expect.MemoryLost("failover clock-forward server-restart eviction"),
			expect.Recovers("holder-kill", "the watchdog ends with its process, and the lease expires"),
			expect.Under("holder-abandon", expect.Violated("the watchdog renews for as long as its process lives", "recovery", "no-orphan")),
			expect.Survives(badWeather, "an unknown grant expires, and a late release frees no other client's key"),
			expect.Survives("failover-synced", "the promoted replica has the key and its lease")),
		Open: openIFEQ(false),
	}
}

// ifeqLock is a lock that renews and releases by conditional commands.
type ifeqLock struct {
	single
	renewals  *renewals // running renewals, by token of the hold
	dropsPX   bool      // whether a renewal sets the key without an expiry
	lacksSet  atomic.Bool
	lacksDels atomic.Int32 // number of the commands in deletes that the server lacks
}

func openIFEQ(dropsPX bool) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		s, err := openSingle(env)
		return &ifeqLock{single: s, renewals: newRenewals(env, false), dropsPX: dropsPX}, err
	}
}

func (l *ifeqLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	start := time.Now()
	hold, err := l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) { return l.setToken(ctx, req) })
	if err == nil {
		hold.Lost = l.renewals.start(hold.Token, hold.Grant, start, func(ctx context.Context) error { return l.renew(ctx, hold.Grant) })
	}
	return hold, err
}

// renew sets the key again, with its value and a new lease, if it has the token.
func (l *ifeqLock) renew(ctx context.Context, g impls.Grant) error {
	words, lease := []any{"SET", l.Key(g.Key), g.Token, "IFEQ", g.Token, "PX", g.Validity.Milliseconds()}, any(g.Validity.Milliseconds())
	if l.dropsPX {
		words, lease = words[:5], ""
	}
	if !l.lacksSet.Load() {
		err := l.Do(ctx, words...).Err()
		switch {
		case errors.Is(err, redis.Nil):
			return impls.ErrNotHeld
		case !isUnsupported(err):
			return err
		}
		l.lacksSet.Store(true)
	}
	return impls.Affected(compareAndSet.Run(ctx, l.UniversalClient, []string{l.Key(g.Key)}, g.Token, lease).Int64())
}

// Release stops the renewals and deletes the key if it has the token.
func (l *ifeqLock) Release(ctx context.Context, g impls.Grant) error {
	if err := l.renewals.stop(ctx, g.Token); err != nil {
		return err
	}
	deletes := [][]any{{"DELEX", l.Key(g.Key), "IFEQ", g.Token}, {"DELIFEQ", l.Key(g.Key), g.Token}}
	for n := l.lacksDels.Load(); int(n) < len(deletes); n++ {
		deleted, err := l.Do(ctx, deletes[n]...).Int64()
		if !isUnsupported(err) {
			return impls.Affected(deleted, err)
		}
		l.lacksDels.Store(n + 1)
	}
	return l.compareAndDelete(ctx, g)
}

// isUnsupported reports whether a server lacks the command or its option. It has then done nothing.
func isUnsupported(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && (strings.HasPrefix(reply.Error(), "ERR unknown command") || strings.HasPrefix(reply.Error(), "ERR syntax error"))
}

// Close stops the renewals and waits for them. The holds then expire.
func (l *ifeqLock) Close() error { return l.renewals.close(l.UniversalClient) }
