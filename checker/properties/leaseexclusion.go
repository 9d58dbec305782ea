package properties

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// newLeaseExclusion returns the monitor of lease exclusion: the leases of two clients never overlap. A lease lasts from
// its grant until its release or expiry. A client that is paused beyond its lease does not violate the property.
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
