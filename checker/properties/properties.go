// Package properties holds what a lock may promise: one table, All, and one file for each property, with the monitor
// that follows a history and says at its end what it found.
package properties

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// Property is one thing that a lock may promise.
type Property struct {
	Name string
	Doc  string // what violates it, in one sentence
	Open func(*Facts) Judgement
	// NeedsGrant reports whether it takes a grant to violate the property: a history without one after the fault shows nothing.
	NeedsGrant bool
}

// All returns every property that a history is judged by, in the order of a verdict.
func All() []Property {
	return []Property{
		{"lease-exclusion",
			"promised: two clients held one key at once, each from its grant to its release or the end of what it was promised", newLeaseExclusion, true},
		{"mutual-exclusion",
			"lived: two clients held one key at once, each from its grant to its release", newMutualExclusion, true},
		{"resource-integrity",
			"effect: two acknowledged writes were based on the same read, the final value is not what was acknowledged, or stock was sold twice or left unsold",
			func(f *Facts) Judgement { return &integrity{Facts: f, stock: inventory{Facts: f}} }, true},
		{"owner-release",
			"a release succeeds for a client that no longer held the key, or never did",
			func(f *Facts) Judgement { return &releases{Facts: f, open: map[int32]attempt{}} }, false},
		{"fencing",
			"a grant that was asked for after another had been received bears a token that is no higher, or two grants share one",
			func(f *Facts) Judgement { return &tokens{Facts: f, open: map[int32]time.Duration{}} }, true},
		{"reentrancy",
			"an inner release frees the outer hold, re-entry by the owner is refused, or the depth does not balance",
			func(f *Facts) Judgement { return &reentrant{Facts: f} }, false},
		{"renewal",
			"a renewal is confirmed after another was granted the key or after the release, or comes with less than a quarter left of what was promised",
			func(f *Facts) Judgement { return &renewals{Facts: f, held: map[*projection.Hold]*lease{}} }, false},
		{"no-orphan",
			"after the run a fresh client, waiting as long as the lock may need, is refused a key that nobody holds",
			func(f *Facts) Judgement { return &orphans{Facts: f} }, false},
		{"progress",
			"somebody keeps asking for a key that nothing explains to be taken, and it is not granted within the bound",
			func(f *Facts) Judgement { return &waiting{Facts: f} }, false},
		{"recovery",
			"a client is gone that held a key or was asking for it, others keep asking, and it is not granted within the bound",
			func(f *Facts) Judgement { return &recoveries{Facts: f} }, false},
		{"exact-try",
			"busy was answered although the key was free from the call to the answer (only for locks that claim exactness)",
			func(f *Facts) Judgement { return &tries{Facts: f, open: map[int32]time.Duration{}} }, false},
	}
}

// Judgement follows a history and says at its end what it found. Events come in the order in which they
// happened, after the projection took them in; changes come as the projection finds them.
type Judgement interface {
	Event(*projection.Key, histories.Event)
	Change(*projection.Key, *projection.Hold, projection.Change)
	Finding() checker.Finding
}

// Faulted is a judgement that must know of the faults after which a client does nothing more: it is told at
// their call, before the projection takes that in, and at their return.
type Faulted interface{ Fault(histories.Event) }
