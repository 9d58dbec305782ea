package properties

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// newLeaseExclusion judges the lock's promise: each hold ends with its promise, so only a wrong algorithm violates it and a
// client's pause does not.
func newLeaseExclusion(m monitor) Judgement {
	return newExclusion(m, projection.Promised(), func(a, b *projection.Hold, both time.Duration) string {
		until := "its release"
		if a.Until != histories.Forever {
			until = checker.Milliseconds(a.Until)
		}
		return m.tell("%s was granted %s at %s with a lease until %s, and %s was granted it at %s: the two leases overlapped for %s.",
			a, a.Acquire.Key, a.Granted, until, b, b.Granted, both)
	})
}
