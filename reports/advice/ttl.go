package advice

import (
	"fmt"
	"time"
)

// leaseMargin is what a lease lasts beyond what it must: for round trips, clocks, and who is late.
const leaseMargin = 1.2

// AdviseTTL is the shortest lease of a series that does what is needed, by what the team says alone; 0: none does.
func AdviseTTL(n Needs, l Lease) time.Duration {
	need := n.Hold.Max
	if n.TwoHold == Corruption {
		need += n.Pauses.Longest
	}
	if l == Renewed {
		need = n.Pauses.Longest * 3 / 2
	}
	for unit := 100 * time.Millisecond; unit <= time.Hour; unit *= 10 {
		for _, m := range []float64{1, 1.5, 2, 3, 5, 7} {
			if ttl := time.Duration(m * float64(unit)); float64(ttl) >= leaseMargin*float64(need) && ttl >= time.Second {
				if n.Recovery > 0 && ttl > n.Recovery {
					return 0
				}
				return ttl
			}
		}
	}
	return 0
}

func noLease(n Needs, l Lease) string {
	return fmt.Sprintf("no lease is long enough for work of %s and pauses of %s, and over within %s", n.Hold.Max, n.Pauses.Longest, n.Recovery)
}

func (d *deciding) leaseAdvice(r *Report) *LeaseAdvice { return nil }
