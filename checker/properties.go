package checker

import (
	"time"

	"lockbench/histories"
)

// Property is one thing that a lock may promise.
type Property struct {
	Name string
	Doc  string // what violates it, in one sentence
	open func(*facts) judgement
}

// Properties is every property that a history is judged by.
func Properties() []Property {
	return []Property{leaseExclusion(), mutualExclusion(), resourceIntegrity(), ownerRelease(), fencing(),
		reentrancy(), renewal(), noOrphan(), progress(), recovery(), exactTry()}
}

// judgement follows a history and says at its end what it found. Events come in the order in which they
// happened, after the projection took them in; changes come as the projection finds them.
type judgement interface {
	event(*key, histories.Event)
	change(*key, *hold, change)
	finding() Finding
}

// faulted is a judgement that must know of the faults after which a client does nothing more: it is told at
// their call, before the projection takes that in, and at their return.
type faulted interface{ fault(histories.Event) }

// facts are what judgements share.
type facts struct {
	header histories.Header
	slack  time.Duration
	bound  time.Duration // Header.FreedWithin
	counts *Counts
	past   *past
	until  time.Duration // how far the history was judged, known at its end
	shaken bool          // something was done to servers, or to the whole network: a key may be gone for that reason

	recovered []time.Duration // from the end of a client to the next grant of what it had, in order
}

// perKey is a judgement's state for each key.
type perKey[T any] []T

func (p *perKey[T]) of(k *key) *T {
	for len(*p) <= k.index {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[k.index]
}
