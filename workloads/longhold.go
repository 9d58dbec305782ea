package workloads

import (
	"context"
	"time"
)

// shortLease is the lease of the workloads that let it run out.
const shortLease = 300 * time.Millisecond

// longHold works for half as long again as its lease, the process alive: a lock that renews keeps its hold, and any other
// loses it.
func longHold() Workload {
	return Workload{
		Name: "long-hold", Special: true, Waits: true,
		Doc: "work for longer than the lease, the process alive: who renews keeps the lock",
		Adapt: func(p *Params) {
			p.TTL = min(p.TTL, shortLease)
			p.Hold = p.TTL * 3 / 2
			p.Duration = max(p.Duration, 2*p.Hold) // for it takes three holds to show what a late release does
			p.Wait = 2 * p.TTL                     // waiters give up, so that the end does not take a lease for each
		},
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Key(), c.Params.wait(), c.work) },
	}
}
