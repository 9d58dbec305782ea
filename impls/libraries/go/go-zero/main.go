//go:build ignore

// Command main lets lockbench test RedisLock of go-zero.
package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/stores/redis"
	worker "lockbench/impls/worker/go"
)

// client holds one lock object for each owner and key. Later acquires by the same owner use the same object.
type client struct {
	store *redis.Redis
	locks sync.Map
}

func main() {
	worker.Main(worker.Lock[*client, *redis.RedisLock]{
		Name: "go-zero-redislock", Shortest: time.Second, Step: time.Second,
		Open: func(env worker.Env) (*client, error) {
			return &client{store: redis.New(strings.TrimSuffix(strings.TrimPrefix(env.Nodes[0], "redis://"), "/0"))}, nil
		},
		Try: func(_ context.Context, c *client, r worker.Request) (g worker.Grant[*redis.RedisLock], err error) {
			g.Token = r.Owner + " " + r.Key           // all holds of a lock object have the same value in the store, so they have the same token
			g.Validity = r.TTL + 500*time.Millisecond // go-zero adds 500 ms to each lease
			found, _ := c.locks.LoadOrStore(g.Token, redis.NewRedisLock(c.store, r.Key))
			g.Handle = found.(*redis.RedisLock)
			g.Handle.SetExpire(int(r.TTL / time.Second))
			return g, refused(worker.ErrBusy)(g.Handle.Acquire())
		},
		Release: func(_ context.Context, _ *client, h worker.Hold[*redis.RedisLock]) error {
			return refused(worker.ErrNotHeld)(h.Handle.Release())
		},
	})
}

// refused returns a function that converts a result of the library to an error. A refusal becomes the error no.
func refused(no error) func(ok bool, err error) error {
	return func(ok bool, err error) error {
		if err == nil && !ok {
			return no
		}
		return err
	}
}
