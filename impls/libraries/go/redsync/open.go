//go:build ignore

package main

import (
	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	worker "lockbench/impls/worker/go"
)

func open(env worker.Env) (*redsync.Redsync, error) {
	pools := make([]pool.Pool, len(env.Nodes))
	for i, node := range env.Nodes {
		o, err := redis.ParseURL(node)
		if err != nil {
			return nil, err
		}
		pools[i] = goredis.NewPool(redis.NewClient(o))
	}
	return redsync.New(pools...), nil
}
