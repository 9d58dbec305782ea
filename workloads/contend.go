package workloads

import (
	"context"
	"time"
)

// contend returns a workload that measures only the lock. A client acquires a key, works without a guarded resource, and
// releases the key.
func contend() Workload {
	return Workload{
		Name: "contend", Figures: true,
		Doc:     "wait for the lock, hold it, release it: the cost of waiting, and each client's share",
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Key(), c.Params.wait(), c.work) },
	}
}

func (c *Client) hold(ctx context.Context, key string, wait time.Duration, do func(context.Context, *Held)) {
	if h, ok := c.Acquire(ctx, key, wait); ok {
		do(ctx, &h)
		c.Release(ctx, h)
	}
}

func (c *Client) work(ctx context.Context, h *Held) { c.Work(ctx, h, c.Params.Hold) }
