//go:build ignore

// Command main lets lockbench test the lock recipe in etcd's Go client.
package main

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	worker "lockbench/impls/worker/go"
)

func main() {
	worker.Main(worker.Lock[*clientv3.Client, *concurrency.Mutex]{
		Name: "etcd-concurrency-mutex", Store: "etcd", Shortest: 2 * time.Second, Step: time.Second,
		Can:  []string{worker.Session, worker.Watchdog, worker.Lost, worker.Fencing, worker.Notifies},
		Busy: concurrency.ErrLocked, Acquire: acquire,
		Open: func(env worker.Env) (*clientv3.Client, error) {
			return clientv3.NewFromURL(strings.TrimPrefix(env.Nodes[0], "etcd://"))
		},
		Release: func(ctx context.Context, _ *clientv3.Client, h worker.Hold[*concurrency.Mutex]) error {
			if err := h.Handle.Unlock(ctx); err == nil || !strings.Contains(err.Error(), "already been released") {
				return err // the session stays open, so that a second release reaches the mutex
			}
			return worker.ErrNotHeld // version 3.5 of the library has no variable for this error
		},
	})
}

func acquire(ctx context.Context, c *clientv3.Client, r worker.Request) (g worker.Grant[*concurrency.Mutex], err error) {
	s, err := concurrency.NewSession(c, concurrency.WithTTL(int(r.TTL/time.Second))) // the library grants a mutex again to its session
	if err != nil {
		return g, err
	}
	m := concurrency.NewMutex(s, r.Key)
	request := m.Lock
	if r.Wait == 0 {
		request = m.TryLock
	}
	if err = request(ctx); err != nil {
		if s.Close() == nil && ctx.Err() != nil {
			err = worker.ErrBusy // the wait has ended, and the end of the session has removed the client from the queue
		}
		return g, err
	}
	return worker.Grant[*concurrency.Mutex]{Handle: m, Fence: m.Header().Revision, Lost: s.Done()}, nil
}
