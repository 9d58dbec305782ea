// Package checker defines the verdict on a history. A Verdict has a Finding for each property: whether it held, was
// violated (with a Witness), could not be decided, or did not apply.
//
// Package judge makes verdicts. It folds a history into holds (package projection) and passes them to one monitor per
// property (package properties) and to the linearizability checker Porcupine (package oracle), which checks exclusion
// independently. A history is read once, in memory bounded by the operations that are open at once.
package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"lockbench/histories"
)

// Observed is the result of judging one property. The zero value is the most cautious.
type Observed uint8

const (
	Undecided     Observed = iota // it applies, and the history does not settle it: never a pass
	Held                          // no violation observed in the operations counted beside it
	Violated                      // with a witness
	NotApplicable                 // the history has no evidence about it
)

var observedNames = [...]string{"undecided", "holds", "violated", "not applicable"}

func (o Observed) String() string { return histories.NameOf(observedNames[:], int(o)) }

func (o Observed) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

func (o *Observed) UnmarshalText(text []byte) error {
	return histories.Parse(o, observedNames[:], text, "observation")
}

// Witness is the smallest part of a history that shows a violation, usually four operations.
type Witness struct {
	Sentence string         `json:"sentence"` // which clients held the key, and for how long at once
	Key      string         `json:"key"`
	From     time.Duration  `json:"from_ns"` // begin and end of the violation, as far as the history shows them
	To       time.Duration  `json:"to_ns"`
	Ops      []histories.Op `json:"ops"` // in order of their calls
}

// UnmarshalJSON also accepts the key that earlier versions wrote instead of sentence.
func (w *Witness) UnmarshalJSON(text []byte) error {
	type plain Witness
	earlier := struct {
		*plain
		Story string `json:"story"`
	}{plain: (*plain)(w)}
	if err := json.Unmarshal(text, &earlier); err != nil {
		return err
	}
	w.Sentence = cmp.Or(w.Sentence, earlier.Story)
	return nil
}

// Finding is the result for one property.
type Finding struct {
	Property   string   `json:"property"`
	Observed   Observed `json:"observed"`
	Why        string   `json:"why,omitempty"`        // the reason if it is undecided or not applicable
	Evidence   string   `json:"evidence,omitempty"`   // the counts that support the finding
	Violations int      `json:"violations,omitempty"` // their number; Witness shows the first
	Witness    *Witness `json:"witness,omitempty"`
}

// Counts holds the amount of evidence in a history.
type Counts struct {
	Operations int `json:"operations"`
	Grants     int `json:"grants"`
	Refused    int `json:"refused"`  // tries that were refused (busy)
	Unknown    int `json:"unknown"`  // operations that may or may not have taken effect
	HandOffs   int `json:"handoffs"` // grants to a client that was waiting when another released
	Expiries   int `json:"expiries"` // promises that ended before their hold
	Takeovers  int `json:"takeovers"`

	Faults      int `json:"faults,omitempty"`       // injected and verified
	Losses      int `json:"losses,omitempty"`       // holds that the lock reported lost to their client
	FalseLosses int `json:"false_losses,omitempty"` // losses after which the store still had the hold
	Stale       int `json:"stale,omitempty"`        // operations that the resource refused because of their token
}

// Band is a fault and how long it lasted.
type Band struct {
	Name      string        `json:"name"`
	Client    int32         `json:"client"` // histories.Harness if it has no target client
	From      time.Duration `json:"from_ns"`
	To        time.Duration `json:"to_ns"` // histories.StillOpen if it lasted until the end
	Effective bool          `json:"effective"`
}

// Verdict is the result of judging one history.
type Verdict struct {
	Until    time.Duration `json:"until_ns"` // end of the judged part
	Counts   Counts        `json:"counts"`
	Slack    time.Duration `json:"slack_ns"` // allowance for clock error in every promise
	Bound    time.Duration `json:"bound_ns"` // time in which a free key must be granted to a waiting client
	MaxStall time.Duration `json:"max_stall_ns"`
	Findings []Finding     `json:"findings"`
	Oracle   Oracle        `json:"oracle"`
	Warnings []string      `json:"warnings,omitempty"`

	// Recoveries holds the times from the end of a client to the next grant of its key, in order.
	Recoveries []time.Duration `json:"recoveries_ns,omitempty"`
	Faults     []Band          `json:"faults,omitempty"` // in order of their calls, the first thousand
}

// Finding returns the finding for a property.
func (v *Verdict) Finding(property string) Finding {
	for _, f := range v.Findings {
		if f.Property == property {
			return f
		}
	}
	return Finding{Property: property, Observed: NotApplicable, Why: "it was not judged"}
}

// Result is the result of one check: an observation compared with an expectation. The names are those of pytest.
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

func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Result) UnmarshalText(text []byte) error {
	return histories.Parse(r, resultNames[:], text, "result")
}

// ResultOf compares an observation with an expectation.
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

// Oracle is Porcupine's result for the same holds.
type Oracle struct {
	Keys      int           `json:"keys"`
	Pairs     int           `json:"pairs"`             // holds judged, over both views
	Windows   int           `json:"windows"`           // pieces of histories that are too long to be searched at once
	Skipped   int           `json:"skipped,omitempty"` // pieces outside of the sample
	Undecided int           `json:"undecided,omitempty"`
	Took      time.Duration `json:"took_ns"`
	// Disagreements lists the keys on which monitor and oracle differ, which is a defect of lockbench.
	Disagreements []string `json:"disagreements,omitempty"`
}

// Milliseconds formats a duration in ms, with three decimals or fewer.
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

// Count formats a number and its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
