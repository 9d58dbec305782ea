// Package properties defines the properties that a lock may promise. All returns the properties, and Property.Open
// returns a monitor that finds violations of one property.
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

// Property is a property that a lock may promise, such as mutual exclusion.
type Property struct {
	Name string
	Doc  string // a sentence that describes a violation
	open func(monitor) Judgement
	// NeedsGrant reports whether only a grant can violate the property. Such a property is undecided if nothing is
	// granted after the fault of the trial.
	NeedsGrant bool
}

// Open returns a new monitor of the property for one history.
func (p Property) Open(f *Facts) Judgement { return p.open(monitor{Facts: f}) }

// All returns all properties, in the order in which verdicts list them.
func All() []Property {
	return []Property{
		{"lease-exclusion",
			"promised: two clients held one key at once, each from its grant to its release or the end of its lease", newLeaseExclusion, true},
		{"mutual-exclusion",
			"lived: two clients held one key at once, each from its grant to its release", newMutualExclusion, true},
		{"resource-integrity",
			"effect: two acknowledged writes were based on the same read, the final value differs from the acknowledged writes, or stock was sold twice or left unsold",
			func(m monitor) Judgement { return &integrity{monitor: m, stock: inventory{monitor: m}} }, true},
		{"owner-release",
			"a release succeeds for a client that did not hold the key",
			func(m monitor) Judgement {
				return &releases{monitor: m, open: map[int32]attempt{}, unknown: map[asker]time.Duration{}}
			}, false},
		{"fencing",
			"a grant requested after another was received bears a token that is not higher, or two grants share a token",
			func(m monitor) Judgement { return &tokens{monitor: m, open: map[int32]time.Duration{}} }, true},
		{"reentrancy",
			"an inner release frees the outer hold, re-entry by the owner is refused, the depth does not balance, or a nested grant has a new token",
			func(m monitor) Judgement { return &reentrant{monitor: m} }, false},
		{"renewal",
			"a renewal is confirmed after a grant to another client or after the release, or is sent with less than a quarter of the lease left",
			func(m monitor) Judgement {
				return &renewals{timed: timed{monitor: m}, held: map[*projection.Hold]*lease{}}
			}, false},
		{"no-orphan",
			"after the run a fresh client that waits for the bound is refused a key without a holder",
			func(m monitor) Judgement { return &orphans{monitor: m} }, false},
		{"progress",
			"a client waits for a key without a holder and is not granted it within the bound",
			func(m monitor) Judgement { return &waiting{monitor: m} }, false},
		{"recovery",
			"a client that held or waited for a key is gone, others wait, and none is granted it within the bound",
			func(m monitor) Judgement { return &recoveries{monitor: m} }, false},
		{"exact-try",
			"a try was refused (busy) although the key was free from the call to the answer (only for locks that promise this)",
			func(m monitor) Judgement { return &tries{monitor: m, open: map[int32]time.Duration{}} }, false},
		{"truthful-answer",
			"a valid hold is refused its release or renewal, a free key is busy, a refused acquire leaves the key, or nothing explains an unknown answer or a reported loss",
			func(m monitor) Judgement { return newAnswers(m) }, false},
		{"prompt-hand-off",
			"a key stays free after a release for longer than the back-off + 500 ms while a client waits for it",
			func(m monitor) Judgement { return &handOffs{timed: timed{monitor: m}} }, false},
		{"wait-honoured",
			"an acquire is refused before its timeout, or returns long after it",
			func(m monitor) Judgement { return &timeouts{timed: timed{monitor: m}} }, false},
		{"responsive",
			"an acquire, release or renewal panics, or does not return within a second of its deadline",
			func(m monitor) Judgement { return &returns{timed: timed{monitor: m}, open: map[int32]*histories.Op{}} }, false},
		{"abandoned-acquire",
			"after an acquire was cancelled or timed out, a waiting client is not granted the key within the bound",
			func(m monitor) Judgement { return &abandonments{timed: timed{monitor: m}} }, false},
		{"loss-notice",
			"a holder learns too late, or never, that its lease has ended, its renewal was refused, or another client holds the key",
			func(m monitor) Judgement { return newNotices(m) }, false},
		{"backed-promise",
			"a promise is shorter than the requested lease, or during a hold the store does not have the key, or has it for less than the promised time",
			func(m monitor) Judgement { return &backed{monitor: m} }, false},
	}
}

// Judgement is a monitor of one property. Event is called for each event, and Change for each change of a hold. When
// Event is called, the holds have already been updated.
//
// Fault is called twice for each fault that ends a client: when the fault begins and when it ends. When it begins, the
// client's holds have not ended yet.
type Judgement interface {
	Event(*projection.Key, histories.Event)
	Change(*projection.Key, *projection.Hold, projection.Change)
	Fault(histories.Event)
	Finding() checker.Finding
}

// Facts holds the data about one history that all its property checkers (monitors) share.
type Facts struct {
	Header        histories.Header
	Slack         time.Duration
	Bound         time.Duration // maximum recovery time: Header.FreedWithin, or more if a granted lease is longer than the requested lease
	Counts        *checker.Counts
	Past          *projection.Past
	Until         time.Duration // end of the judged part of the history; set after the last event
	Shaken        bool          // a fault affected a server or the network, so the store may have lost a lock
	ShakenPrimary bool          // such a fault affected more than replicas
	ChoosesKeys   bool          // an acquire without a key was called: the lock chooses the key

	Stall       time.Duration // longest pause of lockbench itself; set after the last event
	SlowestRead time.Duration // longest observation of the store by lockbench itself

	delivered time.Duration // time of the latest delivery of a delayed acquire whose client had stopped waiting; 0: none

	lease   time.Duration     // longest granted lease
	lasting bool              // a lease that does not expire was granted
	faults  map[int32]*spells // faults so far, by the client that they affected; Harness: of servers and the network
	upsets  int               // number of faults and unknown outcomes so far
	losses  int               // number of faults so far that may have lost messages or data
	healed  time.Duration     // end of the latest fault that was healed
	blanks  int               // number of acquires and releases with an unknown outcome so far
	blank   time.Duration     // return of the latest of them
	ended   time.Duration     // return of the latest fault that ended a process while no other fault lasted; -1: none

	harmed   bool          // a fault other than a delay of a message or a cancelled operation happened
	troubled time.Duration // call of the first fault other than a delay of a message, or of a long such delay that was healed; Forever: none

	Recovered []time.Duration // recovery times: from a fault that ended a client to the next grant of its key
}

// unknownUntil returns the time until which an acquire with an unknown outcome may hold the key. The acquire returned,
// or its client was killed or went away, at the given time (parameter from).
func (f *Facts) unknownUntil(from time.Duration) time.Duration {
	if f.Header.TTL == 0 || f.lasting {
		return histories.Forever
	}
	return from + f.Header.TTL.D() + histories.Excess(f.lease, f.Header.TTL.D()) + f.lateness() + 2*f.Slack
}

// lateness returns the time by which a store may remove an expired lease late, as the lock states it: a server may look for
// expired leases only twice a second.
func (f *Facts) lateness() time.Duration {
	if f.Header.Bound > f.Header.TTL {
		return (f.Header.Bound - f.Header.TTL).D()
	}
	return 0
}

// unknownHold is like unknownUntil, but returns Forever if the lock may renew a hold without a record in the history.
func (f *Facts) unknownHold(from time.Duration) time.Duration {
	if f.Header.SilentRenewals {
		return histories.Forever
	}
	return f.unknownUntil(from)
}

// NewFacts returns the Facts about one history, which all its property monitors share. h is the header of the history.
func NewFacts(h histories.Header) *Facts {
	return &Facts{Header: h, Slack: h.SlackOr(), Bound: h.FreedWithin(), Counts: &checker.Counts{}, Past: projection.NewPast(h.SlackOr()),
		faults: map[int32]*spells{}, troubled: histories.Forever, ended: -1}
}

// Granted increases f.Bound, the maximum recovery time, if an acquire or a renewal was granted a longer lease than
// requested.
func (f *Facts) Granted(op *histories.Op) {
	f.lasting = f.lasting || op.Outcome == histories.OK && op.Validity == histories.Unbounded
	if op.Outcome == histories.OK && op.Validity > f.lease {
		f.lease = op.Validity
		f.Bound = f.Header.FreedWithin() + histories.Excess(f.lease, f.Header.TTL.D())
	}
}

// client returns the name of the client of an operation, with the process number if there are several processes.
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

// Fresh reports whether an operation is by the new client that checks the final state after the workload.
func (c *Facts) Fresh(op *histories.Op) bool {
	return c.Header.Clients > 0 && int(op.Client) >= c.Header.Clients
}

// tell is like fmt.Sprintf, but it formats durations in milliseconds, and operations and holds as the name of the
// client.
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

// monitor holds the violations found so far. It is embedded in the monitor of each property. Its methods Event, Change
// and Fault do nothing.
type monitor struct {
	*Facts
	violations int
	witness    *checker.Witness
}

func (*monitor) Event(*projection.Key, histories.Event)                      {}
func (*monitor) Change(*projection.Key, *projection.Hold, projection.Change) {}
func (*monitor) Fault(histories.Event)                                       {}

// countViolation counts a violation, and reports whether it is the first violation of this monitor.
func (m *monitor) countViolation() bool {
	m.violations++
	return m.violations == 1
}

// show sets the witness: the operations that show a violation, and their description.
func (m *monitor) show(key string, from, to time.Duration, ops []histories.Op, format string, args ...any) {
	slices.SortStableFunc(ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	m.witness = &checker.Witness{Key: key, From: from, To: to, Sentence: m.tell(format, args...), Ops: ops}
}

// reason is a verdict other than Held for a history without violations, with its explanation (field why). The verdict
// is used only if its condition (field applies) is true.
type reason struct {
	applies  bool
	observed checker.Observed
	why      string
}

// finding returns the result of the monitor. The verdict is Violated if a violation was found. Otherwise it is the
// verdict of the first reason whose condition is true. Without such a reason, the verdict is Held.
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
