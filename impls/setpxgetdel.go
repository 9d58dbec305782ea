package impls

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// setPXGetDel gives each grant a token and compares it in the client before it deletes. Its defect: the
// comparison and the deletion are two steps, and the key may become another's between them.
func setPXGetDel() Impl {
	return Impl{
		Name: "set-px-getdel", Control: true, Store: "redis", Deployment: "single", BackOff: longestPause, TwoStepRelease: true,
		Doc: "SET NX PX with a random token, released by GET, a comparison in the client, and DEL",
		Expect: together(
			expect(Holds, "SET NX is atomic, and no hold of this workload outlives its lease",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "every holder deletes its key, and what is forgotten expires", "no-orphan", "progress"),
			lateHolder("holder-stall"),
			under("delayed-release pause-in-release", expect(Breaks, "the lease ends between GET and DEL, and DEL deletes the next one's key",
				"lease-exclusion", "mutual-exclusion")),
			in("misuse", expect(Holds, "who does not have the token does not get as far as DEL", "owner-release")),
			in("long-hold", together(
				leaseRunsOut(),
				expect(Open, "it takes a lease that ends between GET and DEL, and without a delay that is rare", "lease-exclusion")))),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &setPXGetDelLock{s}, err
		},
	}
}

type setPXGetDelLock struct{ single }

var (
	_ Lock   = (*setPXGetDelLock)(nil)
	_ Prober = (*setPXGetDelLock)(nil)
)

func (l *setPXGetDelLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		err := l.setNXPX(ctx, req.Key, mine, req.TTL)
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}, err
	})
}

func (l *setPXGetDelLock) Release(ctx context.Context, g Grant) error {
	return l.getDel(ctx, g.Key, g.Token)
}

// getDel deletes a key in two steps if it bears the token: what GET saw may not be what DEL deletes.
func (n node) getDel(ctx context.Context, key, token string) error {
	value, err := n.Get(ctx, n.key(key)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if err != nil || value != token {
		return ErrNotHeld
	}
	return n.del(ctx, key)
}
