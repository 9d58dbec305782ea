package workloads

import "context"

// reentrant takes the lock twice, as a service does that calls another which locks the same thing. After
// the inner release the client is still inside: it asks the store who holds, and works on.
func reentrant() Workload {
	return Workload{
		Name: "reentrant", Reentrant: true, Guarded: true, Verdict: true,
		Doc: "lock, lock again, unlock once, work on, unlock: an inner release must not free the outer hold",
		Iterate: func(ctx context.Context, c *Client) {
			key := c.Key()
			c.hold(ctx, key, c.Params.wait(), func(ctx context.Context, outer *Held) {
				value, ok := c.Read(ctx, *outer)
				c.hold(ctx, key, 0, func(context.Context, *Held) {})
				c.Probe(ctx, *outer)
				if ok && c.Work(ctx, outer, c.Params.Hold) {
					c.Write(ctx, *outer, value+1)
				}
			})
		},
	}
}
