package workloads

import (
	"context"
	"time"
)

// aloneFor is the maximum duration of a trial. It suffices for dozens of acquires in the slowest store.
const aloneFor = 200 * time.Millisecond

// alone runs one client without contention. It measures the lowest latency of a lock and its store.
func alone() Workload {
	return Workload{
		Name: "alone", Special: true, Figures: true,
		Doc: "one client without contention: the shortest time of an acquire and a release",
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
