package checker

import (
	"fmt"
	"time"

	"lockbench/histories"
)

// leaseExclusion is what the lock promised: each hold is cut where its promise ends, so that only a wrong
// algorithm, and no pause of a client, breaks it.
func leaseExclusion() Property {
	return Property{
		Name: "lease-exclusion",
		Doc:  "promised: two clients held one key at once, each from its grant to its release or the end of what it was promised",
		open: func(c *facts) judgement { return newExclusion(c, promised()) },
	}
}

func promised() view {
	return view{
		property: "lease-exclusion",
		lapses:   true,
		end:      func(h *hold) (time.Duration, bool) { return min(h.end, h.until), h.promised },
		tell: func(c *facts, a, b *hold, both time.Duration) string {
			return fmt.Sprintf("%s was granted %s at %s and promised it %s; %s was granted it at %s all the same: the two promises overlapped for %s.",
				c.who(a), a.acquire.Key, at(a.granted), promise(a), c.who(b), at(b.granted), ms(both))
		},
	}
}

func promise(h *hold) string {
	if h.until == histories.Forever {
		return "until its release"
	}
	return "until " + at(h.until)
}
