package workloads

import "context"

// counter increments a counter under the lock by a read and a later write, as applications do. If two clients hold the lock at
// once, an increment can be lost, and the final count is too low.
func counter() Workload {
	return Workload{
		Name: "counter", Guarded: true,
		Doc: "read a counter, work, write it back one higher: two holders at once lose an update",
		Iterate: func(ctx context.Context, c *Client) {
			c.hold(ctx, c.Key(), c.Params.wait(), func(ctx context.Context, h *Held) {
				value, ok := c.Read(ctx, *h)
				if ok && c.Work(ctx, h, c.Params.Hold) {
					c.Write(ctx, *h, value+1)
				}
			})
		},
	}
}
