// Command go-redislock lets lockbench test github.com/bsm/redislock.
package main

import (
	"context"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	worker "lockbench/impls/worker/go"
)

func main() {
	worker.Main(worker.Lock[*redislock.Client, *redislock.Lock]{
		Name: "go-redislock", Doc: "github.com/bsm/redislock",
		Busy: redislock.ErrNotObtained, NotHeld: redislock.ErrLockNotHeld,
		Open: func(env worker.Env) (*redislock.Client, error) {
			o, err := redis.ParseURL(env.Nodes[0])
			if err != nil {
				return nil, err
			}
			return redislock.New(redis.NewClient(o)), nil
		},
		Try: func(ctx context.Context, c *redislock.Client, r worker.Request) (g worker.Grant[*redislock.Lock], err error) {
			g.Handle, err = c.Obtain(ctx, r.Key, r.TTL, nil)
			return g, err
		},
		Release: func(ctx context.Context, _ *redislock.Client, h worker.Hold[*redislock.Lock]) error {
			return h.Handle.Release(ctx)
		},
		Renew: func(ctx context.Context, _ *redislock.Client, h worker.Hold[*redislock.Lock]) error {
			return h.Handle.Refresh(ctx, h.TTL, nil)
		},
	})
}
