//go:build ignore

// Command main lets lockbench test cirello.io/pglock.
package main

import (
	"context"
	"database/sql"
	"time"

	"cirello.io/pglock"
	_ "github.com/lib/pq"
	worker "lockbench/impls/worker/go"
)

func main() {
	worker.Main(worker.Lock[*pglock.Client, *pglock.Lock]{
		Name: "pglock-cirello", Store: "postgres", Can: []string{worker.Watchdog}, Shortest: time.Second,
		Backoff: 5 * time.Second, // a waiter sleeps for a lease between two tries
		Busy:    pglock.ErrNotAcquired, NotHeld: pglock.ErrLockAlreadyReleased, Open: open,
		Acquire: func(ctx context.Context, c *pglock.Client, r worker.Request) (g worker.Grant[*pglock.Lock], err error) {
			var options []pglock.LockOption
			if r.Wait == 0 {
				options = append(options, pglock.FailIfLocked())
			}
			life, end := context.WithCancel(context.Background()) // the library renews the hold for as long as this context lives
			stop := context.AfterFunc(ctx, end)
			if g.Handle, err = c.AcquireContext(life, r.Key, options...); err != nil || !stop() {
				end()
			}
			return g, err
		},
		Release: func(ctx context.Context, c *pglock.Client, h worker.Hold[*pglock.Lock]) error {
			return c.ReleaseContext(ctx, h.Handle)
		},
	})
}

func open(env worker.Env) (*pglock.Client, error) {
	db, err := sql.Open("postgres", env.Nodes[0]+"?sslmode=disable")
	if err != nil {
		return nil, err
	}
	c, err := pglock.New(db, pglock.WithLeaseDuration(env.TTL), pglock.WithHeartbeatFrequency(env.TTL/3))
	if err != nil {
		return nil, err
	}
	_ = c.CreateTable() // fails if another process has already created the table
	return c, nil
}
