package checker

import (
	"fmt"
	"time"

	"lockbench/histories"
)

// newLeaseExclusion judges what the lock promised: each hold is cut where its promise ends, so that only a wrong
// algorithm, and no pause of a client, breaks it.
func newLeaseExclusion(c *facts) judgement {
	return newExclusion(c, promised(), func(a, b *hold, both time.Duration) string {
		return fmt.Sprintf("%s was granted %s at %s and promised it %s; %s was granted it at %s all the same: the two promises overlapped for %s.",
			c.who(a), a.acquire.Key, ms(a.granted), promise(a), c.who(b), ms(b.granted), ms(both))
	})
}

func promise(h *hold) string {
	if h.until == histories.Forever {
		return "until its release"
	}
	return "until " + ms(h.until)
}
