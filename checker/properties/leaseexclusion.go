package properties

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// newLeaseExclusion judges what the lock promised: each hold is cut where its promise ends, so that only a wrong
// algorithm, and no pause of a client, breaks it.
func newLeaseExclusion(m monitor) Judgement {
	return newExclusion(m, projection.Promised(), func(a, b *projection.Hold, both time.Duration) string {
		until := "its release"
		if a.Until != histories.Forever {
			until = checker.Milliseconds(a.Until)
		}
		return m.tell("%s was granted %s at %s and promised it until %s; %s was granted it at %s all the same: the two promises overlapped for %s.",
			a, a.Acquire.Key, a.Granted, until, b, b.Granted, both)
	})
}
