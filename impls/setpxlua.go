package impls

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// setPXLua is the lock that the Redis documentation recommends for one server: a token of its own for each
// grant, and a release that compares and deletes in one script. What is left is that a lease can run out
// under a holder that does not notice.
func setPXLua() Impl {
	return Impl{
		Name: "set-px-lua", Store: "redis", Deployment: "single", BackOff: longestPause,
		Doc: "SET NX PX with a random token, released by a compare-and-delete script",
		Expect: together(
			expect(Holds, "SET NX is atomic, and the script deletes nobody else's key",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "every holder deletes its key, and what is forgotten expires", "no-orphan", "progress"),
			lateHolder("holder-stall process-pause"), lateAnswer(),
			memoryLost("failover clock-forward server-restart eviction"),
			recovers("holder-kill holder-abandon", "the key expires with its lease, whatever became of its holder"),
			under("clock-back", expect(Breaks, "the lease ends by the server's clock, which was set back", "recovery")),
			survives(badWeather, "what is not known to be granted expires, and what comes late frees nobody else's"),
			silence(),
			survives("failover-synced", "the replica that takes over has the key and its lease"),
			on("durable", under("server-restart", threeViews(Holds, "every command is on disk before it is answered"))),
			onCluster(), comparedRelease(), promiseOutlived()),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &setPXLuaLock{s}, err
		},
	}
}

type setPXLuaLock struct{ single }

var (
	_ Lock   = (*setPXLuaLock)(nil)
	_ Prober = (*setPXLuaLock)(nil)
)

//go:embed lua/compare_and_delete.lua
var compareAndDeleteLua string

var compareAndDelete = redis.NewScript(compareAndDeleteLua)

func (l *setPXLuaLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		err := l.setNXPX(ctx, req.Key, mine, req.TTL)
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}, err
	})
}

func (l *setPXLuaLock) Release(ctx context.Context, g Grant) error {
	return l.deleteIfMine(ctx, g.Key, g.Token)
}
