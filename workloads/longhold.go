package workloads

import (
	"context"
	"time"
)

// shorten reduces the lease to shortLease, or to the shortest lease that the lock supports.
func (p *Params) shorten() { p.TTL = min(p.TTL, max(shortLease, p.Shortest)) }

const shortLease = 300 * time.Millisecond

// longHold works under the lock for one and a half times the lease. A lock that renews its leases keeps the hold. A lock whose
// leases expire without renewal loses the hold.
func longHold() Workload {
	return Workload{
		Name: "long-hold", Special: true, Waits: true,
		Doc: "work for longer than the lease, with the process alive: only a lock that renews keeps its hold",
		Adapt: func(p *Params) {
			p.shorten()
			p.Hold = p.TTL * 3 / 2
			p.Duration = max(p.Duration, 2*p.Hold) // long enough to start three holds one after the other, which show the effect of a late release
			p.Wait = 2 * p.TTL                     // waiters time out, so that the trial ends soon
		},
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Key(), c.Params.wait(), c.work) },
	}
}
