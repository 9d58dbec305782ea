//go:build ignore

// Command main lets lockbench test github.com/bsm/redislock.
package main

import (
	"context"
	"math"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	worker "lockbench/impls/worker/go"
)

const backoff = 100 * time.Millisecond

func main() {
	l := worker.Lock[*redislock.Client, *redislock.Lock]{Name: "redislock-go", Busy: redislock.ErrNotObtained, NotHeld: redislock.ErrLockNotHeld,
		Try: obtain, Open: func(env worker.Env) (*redislock.Client, error) {
			o, err := redis.ParseURL(env.Nodes[0])
			if err != nil {
				return nil, err
			}
			return redislock.New(redis.NewClient(o)), nil
		},
		Release: func(ctx context.Context, _ *redislock.Client, h worker.Hold[*redislock.Lock]) error {
			return h.Handle.Release(ctx)
		},
		Renew: func(ctx context.Context, _ *redislock.Client, h worker.Hold[*redislock.Lock]) error {
			return h.Handle.Refresh(ctx, h.TTL, nil)
		},
	}
	if len(os.Args) > 1 {
		l.Name, l.Backoff, l.Try, l.Acquire = "redislock-go-waiting", backoff, nil, obtain
	}
	worker.Main(l)
}

func obtain(ctx context.Context, c *redislock.Client, r worker.Request) (g worker.Grant[*redislock.Lock], err error) {
	if r.Wait == 0 || len(os.Args) == 1 {
		g.Handle, err = c.Obtain(ctx, r.Key, r.TTL, nil)
		return g, err
	}
	ctx, cancel := context.WithTimeout(ctx, math.MaxInt64) // without a deadline the library waits for one lease
	defer cancel()
	g.Handle, err = c.Obtain(ctx, r.Key, r.TTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(backoff)})
	return g, err
}
