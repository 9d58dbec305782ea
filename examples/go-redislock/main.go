// Command go-redislock is a worker that lets lockbench test the lock bsm/redislock. See
// docs/reference/worker-protocol.md.
//
// Build it with go build ./examples/go-redislock, then run lockbench run --worker ./go-redislock --faults process-pause
package main

import (
	"context"
	"errors"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

const pause = 20 * time.Millisecond

func main() {
	worker.Main(worker.About{Name: "go-redislock", Doc: "github.com/bsm/redislock", BackOff: pause}, func(env impls.Env) (impls.Lock, error) {
		o, err := redis.ParseURL(env.Nodes[0])
		if err != nil {
			return nil, errors.New("parse the server's URL: invalid") // omit the cause, which may contain a password
		}
		client := redislock.New(redis.NewClient(o))
		return worker.Tried(pause, func(ctx context.Context, r impls.Request) (g impls.Grant, release func(context.Context) error, err error) {
			got, err := client.Obtain(ctx, env.Prefix+r.Key, r.TTL, nil)
			if err != nil {
				return g, nil, translated(err)
			}
			return impls.Grant{Token: got.Token(), Validity: r.TTL}, func(ctx context.Context) error { return translated(got.Release(ctx)) }, nil
		}), nil
	})
}

func translated(err error) error {
	known := map[error]error{redislock.ErrNotObtained: impls.ErrBusy, redislock.ErrLockNotHeld: impls.ErrNotHeld}
	return errors.Join(known[err], err)
}
