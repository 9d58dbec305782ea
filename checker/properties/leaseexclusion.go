package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// newLeaseExclusion judges what the lock promised: each hold is cut where its promise ends, so that only a wrong
// algorithm, and no pause of a client, breaks it.
func newLeaseExclusion(c *Facts) Judgement {
	return newExclusion(c, projection.Promised(), func(a, b *projection.Hold, both time.Duration) string {
		return fmt.Sprintf("%s was granted %s at %s and promised it %s; %s was granted it at %s all the same: the two promises overlapped for %s.",
			c.who(a), a.Acquire.Key, checker.Milliseconds(a.Granted), promise(a), c.who(b), checker.Milliseconds(b.Granted), checker.Milliseconds(both))
	})
}

func promise(h *projection.Hold) string {
	if h.Until == histories.Forever {
		return "until its release"
	}
	return "until " + checker.Milliseconds(h.Until)
}
