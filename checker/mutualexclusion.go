package checker

import (
	"fmt"
	"time"
)

// newMutualExclusion judges what the application lived: two clients in one critical section at once. A pause that
// no lease survives breaks it as well as a wrong algorithm does.
func newMutualExclusion(c *facts) judgement {
	return newExclusion(c, lived(), func(a, b *hold, both time.Duration) string {
		return fmt.Sprintf("%s held %s since %s and had not released it when %s was granted it at %s: both were inside for %s%s.",
			c.who(a), a.acquire.Key, ms(a.granted), c.who(b), ms(b.granted), ms(both), until(a, b))
	})
}

// until says which of the two left first.
func until(a, b *hold) string {
	first := a
	if b.end < a.end {
		first = b
	}
	if first.release.Kind == 0 && first.fault != nil {
		return fmt.Sprintf(", until client %d was gone at %s (%s)", first.acquire.Client, ms(first.end), first.fault.Fault)
	}
	if first.release.Kind == 0 {
		return ", and neither was seen to release it"
	}
	return fmt.Sprintf(", until client %d released it at %s", first.acquire.Client, ms(first.end))
}
