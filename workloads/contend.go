package workloads

import (
	"context"
	"time"
)

// contend is the bare lock: wait for it, hold it, give it back. Its figures are the lock's own.
func contend() Workload {
	return Workload{
		Name: "contend", Figures: true,
		Doc:     "wait for the lock, hold it, release it: what waiting costs and who gets how much",
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Key(), c.Params.wait(), c.work) },
	}
}

// hold acquires a key and, if it is granted, does something and releases it.
func (c *Client) hold(ctx context.Context, key string, wait time.Duration, do func(context.Context, *Held)) {
	if h, ok := c.Acquire(ctx, key, wait); ok {
		do(ctx, &h)
		c.Release(ctx, h)
	}
}

func (c *Client) work(ctx context.Context, h *Held) { c.Work(ctx, h, c.Params.Hold) }
