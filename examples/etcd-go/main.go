// Command etcd-go lets lockbench test the lock recipe in etcd's Go client.
package main

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	worker "lockbench/impls/worker/go"
)

// lock holds a mutex and its session. Each hold has a separate session, because etcd grants a mutex again to the
// session that already holds it.
type lock struct {
	mutex   *concurrency.Mutex
	session *concurrency.Session
}

func main() {
	worker.Main(worker.Lock[*clientv3.Client, lock]{
		Name: "etcd-go", Doc: "concurrency.Mutex in go.etcd.io/etcd/client/v3", Store: "etcd", Shortest: 2 * time.Second, Step: time.Second,
		Can:  []string{worker.Session, worker.Watchdog, worker.Lost, worker.Fencing, worker.Notifies},
		Busy: concurrency.ErrLocked, NotHeld: concurrency.ErrLockReleased, Acquire: acquire,
		Open: func(env worker.Env) (*clientv3.Client, error) {
			return clientv3.NewFromURL(strings.TrimPrefix(env.Nodes[0], "etcd://"))
		},
		Release: func(ctx context.Context, _ *clientv3.Client, h worker.Hold[lock]) error {
			defer h.Handle.session.Close()
			return h.Handle.mutex.Unlock(ctx)
		},
	})
}

func acquire(ctx context.Context, c *clientv3.Client, r worker.Request) (g worker.Grant[lock], err error) {
	s, err := concurrency.NewSession(c, concurrency.WithTTL(int(r.TTL/time.Second)))
	if err != nil {
		return g, err
	}
	m := concurrency.NewMutex(s, r.Key)
	request := m.Lock
	if r.Wait == 0 {
		request = m.TryLock
	}
	if err = request(ctx); err == nil {
		return worker.Grant[lock]{Handle: lock{m, s}, Fence: m.Header().Revision, Lost: s.Done()}, nil
	}
	if s.Close() == nil && ctx.Err() != nil { // closing the session removes the client from the lock's queue
		err = worker.ErrBusy
	}
	return g, err
}
