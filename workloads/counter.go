package workloads

import "context"

// counter increments a counter under the lock as applications do, by a read and a later write. Two holders at once lose an
// update, so the effect of a broken lock shows in the number.
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
