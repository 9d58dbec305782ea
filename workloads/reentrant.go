package workloads

import "context"

// reentrant takes the lock twice, as a service does that calls another which locks the same thing. After
// the inner release the client is still inside: it asks the store who holds, and works on.
func reentrant() Workload {
	return Workload{
		Name: "reentrant", Reentrant: true, Guarded: true,
		Doc: "lock, lock again, unlock once, work on, unlock: an inner release must not free the outer hold",
		Iterate: func(ctx context.Context, c *Client) {
			key := c.Key()
			outer, ok := c.Acquire(ctx, key, c.Params.wait())
			if !ok {
				return
			}
			value, ok := c.Read(ctx, outer)
			if inner, granted := c.Acquire(ctx, key, 0); granted {
				c.Release(ctx, inner)
			}
			c.Probe(ctx, outer)
			if ok && c.Work(ctx, &outer, c.Params.Hold) {
				c.Write(ctx, outer, value+1)
			}
			c.Release(ctx, outer)
		},
	}
}
