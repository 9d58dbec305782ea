package broken

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/redis"
	"lockbench/impls/waiting"
)

// shortExpire is a lock that promises the whole requested lease. In the store, the key expires after half of the lease.
// Clients with short holds do not notice the defect.
func shortExpire() impls.Impl {
	return impls.Impl{
		Name: "broken-short-lease", Control: true, Store: "redis", Deployment: "single", Leased: true, BackOff: waiting.LongestPause,
		Doc:    "SET NX PX with half of the lease that it promises",
		Expect: expect.Violated("the store has half of the promised lease", "backed-promise"),
		Open: func(env impls.Env) (impls.Lock, error) {
			if err := env.WantOne(); err != nil {
				return nil, err
			}
			nodes, err := redis.Connect(env)
			if err != nil {
				return nil, err
			}
			return &halfLease{nodes[0], waiting.NewPolling(env), env}, nil
		},
	}
}

type halfLease struct {
	redis.Node
	waiting.Polling
	env impls.Env
}

// Acquire sets the key with a token.
func (l *halfLease) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		g := impls.Grant{Token: impls.Token(l.env.Rand), Validity: req.TTL}
		set, err := l.SetNX(ctx, l.Key(req.Key), g.Token, req.TTL/2).Result() // the defect: the expiry is half of the promised lease
		if err == nil && !set {
			err = impls.ErrBusy
		}
		return g, err
	})
}

var compareAndDelete = goredis.NewScript(`return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`)

// Release deletes the key if it has the token.
func (l *halfLease) Release(ctx context.Context, g impls.Grant) error {
	return impls.Affected(compareAndDelete.Run(ctx, l.UniversalClient, []string{l.Key(g.Key)}, g.Token).Int64())
}

// Close closes the connections.
func (l *halfLease) Close() error { return l.UniversalClient.Close() }
