//go:build ignore

package main

import (
	"context"

	"github.com/redis/rueidis/rueidislock"
	worker "lockbench/impls/worker/go"
)

type hold struct {
	life, held  context.Context // life ends with the release, and held also with a loss
	end, unlock context.CancelFunc
}

func acquire(ctx context.Context, c rueidislock.Locker, r worker.Request) (g worker.Grant[hold], err error) {
	lock := c.WithContext
	if r.Wait == 0 {
		lock = c.TryWithContext
	}
	var h hold
	h.life, h.end = context.WithCancel(context.Background()) // the library renews the hold for as long as this context lives
	stop := context.AfterFunc(ctx, h.end)
	switch h.held, h.unlock, err = lock(h.life, r.Key); {
	case err != nil && h.life.Err() != nil:
		return g, worker.ErrBusy // the library has deleted the keys of the last try
	case err != nil:
		h.end()
		return g, err
	case !stop():
		h.unlock()
		return g, ctx.Err()
	}
	return worker.Grant[hold]{Handle: h, Lost: h.held.Done()}, nil
}

func release(_ context.Context, _ rueidislock.Locker, h worker.Hold[hold]) error {
	if h.Handle.life.Err() != nil {
		return worker.ErrNotHeld // released before
	}
	lost := h.Handle.held.Err()
	h.Handle.unlock()
	h.Handle.end()
	return lost
}
