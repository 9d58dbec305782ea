package workloads

import "context"

// reentrant acquires the lock twice in nested calls, like a service that calls another service under the same lock. After the
// inner release, the client still holds the lock. It queries the store for the current token and continues its work.
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
