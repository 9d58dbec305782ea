package workloads

import (
	"context"
	"time"
)

// contend is the bare lock: wait for it, hold it, give it back. Its figures are the lock's own.
func contend() Workload {
	return Workload{
		Name:    "contend",
		Doc:     "wait for the lock, hold it, release it: what waiting costs and who gets how much",
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Params.wait()) },
	}
}

// hold acquires the key of this iteration, works, and releases it.
func (c *Client) hold(ctx context.Context, wait time.Duration) {
	h, ok := c.Acquire(ctx, c.Key(), wait)
	if !ok {
		return
	}
	c.Work(ctx, &h, c.Params.Hold)
	c.Release(ctx, h)
}
