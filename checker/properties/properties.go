// Package properties holds what a lock may promise: one table, All, and one file for each property, with the monitor
// that follows a history and says at its end what it found.
package properties

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// Property is one thing that a lock may promise.
type Property struct {
	Name string
	Doc  string // what violates it, in one sentence
	open func(monitor) Judgement
	// NeedsGrant reports whether it takes a grant to violate the property: a history without one after the fault shows nothing.
	NeedsGrant bool
}

// Open returns what judges a history by this property.
func (p Property) Open(f *Facts) Judgement { return p.open(monitor{Facts: f}) }

// All returns every property that a history is judged by, in the order of a verdict.
func All() []Property {
	return []Property{
		{"lease-exclusion",
			"promised: two clients held one key at once, each from its grant to its release or the end of what it was promised", newLeaseExclusion, true},
		{"mutual-exclusion",
			"lived: two clients held one key at once, each from its grant to its release", newMutualExclusion, true},
		{"resource-integrity",
			"effect: two acknowledged writes were based on the same read, the final value is not what was acknowledged, or stock was sold twice or left unsold",
			func(m monitor) Judgement { return &integrity{monitor: m, stock: inventory{monitor: m}} }, true},
		{"owner-release",
			"a release succeeds for a client that no longer held the key, or never did",
			func(m monitor) Judgement { return &releases{monitor: m, open: map[int32]attempt{}} }, false},
		{"fencing",
			"a grant that was asked for after another had been received bears a token that is no higher, or two grants share one",
			func(m monitor) Judgement { return &tokens{monitor: m, open: map[int32]time.Duration{}} }, true},
		{"reentrancy",
			"an inner release frees the outer hold, re-entry by the owner is refused, or the depth does not balance",
			func(m monitor) Judgement { return &reentrant{monitor: m} }, false},
		{"renewal",
			"a renewal is confirmed after another was granted the key or after the release, or comes with less than a quarter left of what was promised",
			func(m monitor) Judgement { return &renewals{monitor: m, held: map[*projection.Hold]*lease{}} }, false},
		{"no-orphan",
			"after the run a fresh client, waiting as long as the lock may need, is refused a key that nobody holds",
			func(m monitor) Judgement { return &orphans{monitor: m} }, false},
		{"progress",
			"somebody keeps asking for a key that nothing explains to be taken, and it is not granted within the bound",
			func(m monitor) Judgement { return &waiting{monitor: m} }, false},
		{"recovery",
			"a client is gone that held a key or was asking for it, others keep asking, and it is not granted within the bound",
			func(m monitor) Judgement { return &recoveries{monitor: m} }, false},
		{"exact-try",
			"busy was answered although the key was free from the call to the answer (only for locks that claim exactness)",
			func(m monitor) Judgement { return &tries{monitor: m, open: map[int32]time.Duration{}} }, false},
	}
}

// Judgement follows a history and says at its end what it found. Events come in the order in which they
// happened, after the projection took them in; changes come as the projection finds them. Fault is called for faults
// after which a client does nothing more: at their call, before the projection takes that in, and at their return.
type Judgement interface {
	Event(*projection.Key, histories.Event)
	Change(*projection.Key, *projection.Hold, projection.Change)
	Fault(histories.Event)
	Finding() checker.Finding
}

// Facts are what judgements share.
type Facts struct {
	Header histories.Header
	Slack  time.Duration
	Bound  time.Duration // Header.FreedWithin
	Counts *checker.Counts
	Past   *projection.Past
	Until  time.Duration // how far the history was judged, known at its end
	Shaken bool          // something was done to servers, or to the whole network: a key may be gone for that reason

	Recovered []time.Duration // from the end of a client to the next grant of what it had, in order
}

// unknownUntil returns until when an acquire that may have taken effect explains that others are refused.
func (f *Facts) unknownUntil(from time.Duration) time.Duration {
	if f.Header.TTL == 0 {
		return histories.Forever
	}
	return from + f.Header.TTL.D() + 2*f.Slack
}

// NewFacts returns what is known before the first event.
func NewFacts(h histories.Header) *Facts {
	return &Facts{Header: h, Slack: h.SlackOr(), Bound: h.FreedWithin(), Counts: &checker.Counts{}, Past: projection.NewPast(h.SlackOr())}
}

// client names the client of an operation and, if the history says how clients were spread, its process.
func (c *Facts) client(op *histories.Op) string {
	switch {
	case op.Client == histories.Harness:
		return "lockbench"
	case c.Fresh(op):
		return "the fresh client of the epilogue"
	case c.Header.Processes > 1:
		return fmt.Sprintf("client %d (process %d)", op.Client, int(op.Client)%c.Header.Processes)
	}
	return fmt.Sprintf("client %d", op.Client)
}

// Fresh reports whether an operation is the epilogue's: those clients are numbered after all others.
func (c *Facts) Fresh(op *histories.Op) bool {
	return c.Header.Clients > 0 && int(op.Client) >= c.Header.Clients
}

// tell formats a sentence of a story: times in milliseconds, operations and holds as their client.
func (c *Facts) tell(format string, args ...any) string {
	said := make([]any, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case time.Duration:
			arg = checker.Milliseconds(a)
		case *histories.Op:
			arg = c.client(a)
		case *projection.Hold:
			arg = c.client(&a.Acquire)
		}
		said[i] = arg
	}
	return fmt.Sprintf(format, said...)
}

// monitor is the part that judgements have in common: the facts, and the violations found so far. It ignores what a
// judgement does not handle.
type monitor struct {
	*Facts
	violations int
	witness    *checker.Witness
}

func (*monitor) Event(*projection.Key, histories.Event)                      {}
func (*monitor) Change(*projection.Key, *projection.Hold, projection.Change) {}
func (*monitor) Fault(histories.Event)                                       {}

// first counts a violation and reports whether it is the first, whose witness is wanted.
func (m *monitor) first() bool {
	m.violations++
	return m.violations == 1
}

// show sets the witness, with its operations in order of their calls and a story as tell formats it.
func (m *monitor) show(key string, from, to time.Duration, ops []histories.Op, format string, args ...any) {
	slices.SortStableFunc(ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	m.witness = &checker.Witness{Key: key, From: from, To: to, Story: m.tell(format, args...), Ops: ops}
}

// reason is why a history without a violation does not show that a property holds.
type reason struct {
	applies  bool
	observed checker.Observed
	why      string
}

// finding returns what was found: violated, or the first reason that applies, or else held.
func (m *monitor) finding(evidence string, reasons ...reason) checker.Finding {
	out := checker.Finding{Observed: checker.Held, Evidence: evidence, Violations: m.violations}
	if m.violations > 0 {
		out.Observed, out.Witness = checker.Violated, m.witness
		return out
	}
	for _, r := range reasons {
		if r.applies {
			out.Observed, out.Why = r.observed, r.why
			break
		}
	}
	return out
}
