// Package checker holds the verdict on a history: for each property a finding, which says whether it held, was
// violated (with a witness and a sentence that tells it), could not be decided, or did not apply.
//
// Package judge makes verdicts. It folds a history into holds (package projection) and hands these to one monitor per
// property (package properties, one file each) and to Porcupine, the linearizability checker (package oracle), which
// judges exclusion independently. All of it reads a history once, in memory bounded by what is open at once.
package checker

import (
	"fmt"
	"strconv"
	"time"

	"lockbench/histories"
)

// Observed is how a property came out. The zero value is the cautious one.
type Observed uint8

const (
	Undecided     Observed = iota // it applies, and the history does not settle it: never a pass
	Held                          // no violation observed, in the operations counted beside it
	Violated                      // with a witness
	NotApplicable                 // the history carries no evidence on it
)

var observedNames = [...]string{"undecided", "holds", "violated", "not applicable"}

func (o Observed) String() string { return histories.NameOf(observedNames[:], int(o)) }

// MarshalText gives the name used in files.
func (o Observed) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText refuses what is not an observation.
func (o *Observed) UnmarshalText(text []byte) error {
	return histories.Parse(o, observedNames[:], text, "observation")
}

// Witness is the smallest part of a history that shows a violation, as a rule four operations.
type Witness struct {
	Story string         `json:"story"` // for people: who held, since when, who else got it, for how long both were inside
	Key   string         `json:"key"`
	From  time.Duration  `json:"from_ns"` // when the violation began and ended, as far as the history tells
	To    time.Duration  `json:"to_ns"`
	Ops   []histories.Op `json:"ops"` // in order of their calls
}

// Finding is what is said of one property.
type Finding struct {
	Property   string   `json:"property"`
	Observed   Observed `json:"observed"`
	Why        string   `json:"why,omitempty"`        // of an undecided or inapplicable one
	Evidence   string   `json:"evidence,omitempty"`   // the counts that give the finding its weight
	Violations int      `json:"violations,omitempty"` // how often; Witness shows the first
	Witness    *Witness `json:"witness,omitempty"`
}

// Counts say how much a history shows.
type Counts struct {
	Operations int `json:"operations"`
	Grants     int `json:"grants"`
	Refused    int `json:"refused"`  // tries that were answered "busy"
	Unknown    int `json:"unknown"`  // operations that may or may not have taken effect
	HandOffs   int `json:"handoffs"` // grants to another client than before, while it was waiting at the release
	Expiries   int `json:"expiries"` // promises that ran out before their hold ended
	Takeovers  int `json:"takeovers"`

	Faults      int `json:"faults,omitempty"`       // injected and seen to take effect
	Losses      int `json:"losses,omitempty"`       // holds that the lock told its client to be gone
	FalseLosses int `json:"false_losses,omitempty"` // of those, after which the store was seen to have the hold still
	Stale       int `json:"stale,omitempty"`        // reads, writes and appends that what the lock guards refused for their token
}

// Band is a fault and how long it lasted.
type Band struct {
	Name      string        `json:"name"`
	Client    int32         `json:"client"` // histories.Harness where it was not aimed at one
	From      time.Duration `json:"from_ns"`
	To        time.Duration `json:"to_ns"` // histories.StillOpen: until the end
	Effective bool          `json:"effective"`
}

// Verdict is all that is said of one history.
type Verdict struct {
	Until    time.Duration `json:"until_ns"` // judged up to here
	Counts   Counts        `json:"counts"`
	Slack    time.Duration `json:"slack_ns"` // clock error allowed for in every promise
	Bound    time.Duration `json:"bound_ns"` // within which a free key must be granted while somebody tries
	MaxStall time.Duration `json:"max_stall_ns"`
	Findings []Finding     `json:"findings"`
	Oracle   Oracle        `json:"oracle"`
	Warnings []string      `json:"warnings,omitempty"`

	// Recoveries are the times from the end of a client to the next grant of what it had, in order.
	Recoveries []time.Duration `json:"recoveries_ns,omitempty"`
	Faults     []Band          `json:"faults,omitempty"` // in order of their calls, the first thousand
}

// Finding returns what is said of a property.
func (v *Verdict) Finding(property string) Finding {
	for _, f := range v.Findings {
		if f.Property == property {
			return f
		}
	}
	return Finding{Property: property, Observed: NotApplicable, Why: "it was not judged"}
}

// Result is the result of one check: what was observed of a property, compared with what was expected. The names are
// those of pytest.
type Result uint8

const (
	NoExpectation Result = iota // nothing was expected, or the property does not apply
	Pass                        // expected to hold, and no violation was observed
	XFail                       // expected to be violated, and a violation was observed
	Fail                        // expected to hold, and a violation was observed
	XPass                       // expected to be violated, and no violation was observed: the suite missed a known defect
	Inconclusive                // expected to hold, and the history does not settle it
)

var resultNames = [...]string{"observed", "pass", "xfail", "FAIL", "xpass", "inconclusive"}

func (r Result) String() string { return histories.NameOf(resultNames[:], int(r)) }

// MarshalText returns the name used in files.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText refuses what is not a result.
func (r *Result) UnmarshalText(text []byte) error {
	return histories.Parse(r, resultNames[:], text, "result")
}

// ResultOf compares an observation with what was expected.
func ResultOf(expected histories.Expected, observed Observed) Result {
	switch {
	case expected == histories.Unspecified || observed == NotApplicable:
		return NoExpectation
	case expected == histories.ToHold && observed == Held:
		return Pass
	case expected == histories.ToHold && observed == Violated:
		return Fail
	case expected == histories.ToBeViolated && observed == Violated:
		return XFail
	case expected == histories.ToBeViolated:
		return XPass
	}
	return Inconclusive
}

// Oracle says what Porcupine made of the same projections.
type Oracle struct {
	Keys      int           `json:"keys"`
	Pairs     int           `json:"pairs"`             // holds judged
	Windows   int           `json:"windows"`           // pieces in which histories too long to be judged whole were judged
	Skipped   int           `json:"skipped,omitempty"` // pieces that were left out of the sample
	Undecided int           `json:"undecided,omitempty"`
	Took      time.Duration `json:"took_ns"`
	// Disagreements say where monitor and oracle came to different verdicts: a fault of lockbench.
	Disagreements []string `json:"disagreements,omitempty"`
}

// Milliseconds writes a duration in ms, with as many digits as matter.
func Milliseconds(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.1f ms", v)
	case v >= 1:
		return fmt.Sprintf("%.2f ms", v)
	}
	return fmt.Sprintf("%.3f ms", v)
}

// Count is a number and its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
