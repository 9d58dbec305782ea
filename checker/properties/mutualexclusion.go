package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
)

// newMutualExclusion returns the monitor of mutual exclusion: no two clients hold a key at once, even after a lease
// expired. A client that is paused beyond its lease may violate the property.
func newMutualExclusion(m monitor) Judgement {
	return newExclusion(m, projection.Lived(), func(a, b *projection.Hold, both time.Duration) string {
		return m.tell("%s held %s since %s and had not released it when %s was granted it at %s: both held it for %s%s.",
			a, a.Acquire.Key, a.Granted, b, b.Granted, both, endClause(a, b))
	})
}

func endClause(a, b *projection.Hold) string {
	first := a
	if b.End < a.End {
		first = b
	}
	if first.Release.Kind == 0 && first.Fault != nil {
		return fmt.Sprintf(", until client %d was gone at %s (%s)", first.Acquire.Client, checker.Milliseconds(first.End), first.Fault.Fault)
	}
	if first.Release.Kind == 0 {
		return ", and no release by either is recorded"
	}
	return fmt.Sprintf(", until client %d released it at %s", first.Acquire.Client, checker.Milliseconds(first.End))
}
