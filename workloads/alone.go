package workloads

import (
	"context"
	"time"
)

// aloneFor is long enough for dozens of acquires of the slowest store.
const aloneFor = 200 * time.Millisecond

// alone is one client that nobody contends with: what a lock costs where it is not needed, and the least that a store
// answers in. There is nobody to be excluded, so that nothing is expected of it.
func alone() Workload {
	return Workload{
		Name: "alone", Special: true, Figures: true,
		Doc: "one client, nobody else: what an acquire and a release take at the least",
		Adapt: func(p *Params) {
			p.Clients, p.Processes, p.Keys, p.Spread = 1, 1, 1, One
			p.Hold, p.Think = 0, 0
			p.Duration = min(p.Duration, aloneFor)
		},
		Iterate: func(ctx context.Context, c *Client) {
			c.hold(ctx, c.Key(), c.Params.wait(), func(context.Context, *Held) {})
		},
	}
}
