// Command go-redislock is bsm/redislock as a worker, see docs/worker-protocol.md: go build ./examples/go-redislock, and
// lockbench run --worker ./go-redislock --faults process-pause
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/worker"
)

const pause = 20 * time.Millisecond

type lock struct {
	*redislock.Client
	prefix string
	held   sync.Map // *redislock.Lock by token
}

func main() {
	worker.Main(worker.About{Name: "go-redislock", Doc: "github.com/bsm/redislock", BackOff: pause}, func(env impls.Env) (impls.Lock, error) {
		o, err := redis.ParseURL(env.Nodes[0])
		if err != nil {
			return nil, errors.New("the URL of the server cannot be read") // it may have a password in it
		}
		return &lock{Client: redislock.New(redis.NewClient(o)), prefix: env.Prefix}, nil
	})
}

func (l *lock) Acquire(ctx context.Context, r impls.Request) (impls.Hold, error) {
	return worker.Poll(ctx, r, pause, func() (impls.Grant, error) {
		got, err := l.Obtain(ctx, l.prefix+r.Key, r.TTL, nil)
		switch {
		case errors.Is(err, redislock.ErrNotObtained):
			return impls.Grant{}, impls.ErrBusy
		case err != nil:
			return impls.Grant{}, err
		}
		l.held.Store(got.Token(), got)
		return impls.Grant{Key: r.Key, Owner: r.Owner, Token: got.Token(), Validity: r.TTL}, nil
	})
}

func (l *lock) Release(ctx context.Context, g impls.Grant) error {
	held, _ := l.held.Load(g.Token)
	of, _ := held.(*redislock.Lock) // nil where it was never granted, and holds nothing
	err := of.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return impls.ErrNotHeld
	}
	return err
}

func (l *lock) Close() error { return nil }
