//go:build ignore

// Command main lets lockbench test github.com/go-redsync/redsync.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	worker "lockbench/impls/worker/go"
)

func main() {
	l := worker.Lock[*redsync.Redsync, *redsync.Mutex]{Name: "redsync-go", Backoff: 150 * time.Millisecond, Open: open,
		Try: func(ctx context.Context, c *redsync.Redsync, r worker.Request) (g worker.Grant[*redsync.Mutex], err error) {
			g.Handle = c.NewMutex(r.Key, redsync.WithExpiry(r.TTL))
			err = refused(g.Handle.TryLockContext(ctx), worker.ErrBusy)
			g.Token, g.Validity = g.Handle.Value(), r.TTL-r.TTL/100 // less the library's allowance for clock drift
			return g, err
		},
		Release: func(ctx context.Context, _ *redsync.Redsync, h worker.Hold[*redsync.Mutex]) error {
			_, err := h.Handle.UnlockContext(ctx)
			return refused(err, worker.ErrNotHeld)
		}}
	if len(os.Args) > 1 {
		l.Name, l.Deployment = "redsync-go-five", "five"
	}
	worker.Main(l)
}

// refused returns the error no if a majority of the servers refused the request, and otherwise err.
func refused(err, no error) error {
	var failed *redsync.RedisError
	if taken := new(redsync.ErrTaken); errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) && !errors.As(err, &failed) {
		return no
	}
	return err
}
