// Package checker defines the verdict on a history. A Verdict has a Finding for each property: the property holds, is
// violated (with a Witness), is undecided, or is not applicable. Package judge makes verdicts. It derives holds from a
// history (package projection). It passes them to one monitor per property (package properties) and to the linearizability
// checker Porcupine (package oracle), which checks exclusion independently. A history is read once, and the memory needed
// is proportional to the number of operations open at once.
package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"lockbench/histories"
)

// Observed is the verdict on one property of one history. The zero value is Undecided.
type Observed uint8

const (
	Undecided     Observed = iota // the property applies, but the history has too little evidence; never a pass
	Held                          // the history shows no violation
	Violated                      // the history shows a violation; the Finding has a Witness
	NotApplicable                 // the history has no evidence about the property
)

var observedNames = [...]string{"undecided", "holds", "violated", "not applicable"}

func (o Observed) String() string { return histories.NameOf(observedNames[:], int(o)) }

func (o Observed) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

func (o *Observed) UnmarshalText(text []byte) error {
	return histories.Parse(o, observedNames[:], text, "observation")
}

// Witness is the smallest part of a history that shows a violation, usually four operations.
type Witness struct {
	Sentence string         `json:"sentence"` // description of the violation, such as which clients held the key at once and for how long
	Key      string         `json:"key"`
	From     time.Duration  `json:"from_ns"` // begin and end of the violation, as far as the history shows them
	To       time.Duration  `json:"to_ns"`
	Ops      []histories.Op `json:"ops"` // in order of their calls
}

// UnmarshalJSON parses a witness. It also accepts the name under which earlier versions stored the sentence.
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
	Why        string   `json:"why,omitempty"`        // reason why the property is undecided or not applicable
	Evidence   string   `json:"evidence,omitempty"`   // numbers of operations that support the finding, as text
	Violations int      `json:"violations,omitempty"` // number of violations; Witness shows the first one
	Witness    *Witness `json:"witness,omitempty"`
}

// Counts holds the amount of evidence in a history.
type Counts struct {
	Operations int `json:"operations"`
	Grants     int `json:"grants"`
	Refused    int `json:"refused"`  // number of acquires that were refused (busy)
	Unknown    int `json:"unknown"`  // number of operations that may or may not have taken effect
	HandOffs   int `json:"handoffs"` // number of grants to a client that was already waiting when the previous holder released
	Expiries   int `json:"expiries"` // number of leases that expired before their hold ended
	Takeovers  int `json:"takeovers"`

	Faults      int `json:"faults,omitempty"`       // number of faults injected and verified
	Losses      int `json:"losses,omitempty"`       // number of holds that the lock reported as lost
	FalseLosses int `json:"false_losses,omitempty"` // number of reported losses after which the store still had the hold
	Stale       int `json:"stale,omitempty"`        // number of operations that the resource refused because of their fencing token
}

// Band is a fault and the time during which it lasted.
type Band struct {
	Name      string        `json:"name"`
	Client    int32         `json:"client"` // target client, or histories.Harness if the fault has no target client
	From      time.Duration `json:"from_ns"`
	To        time.Duration `json:"to_ns"` // end of the fault; histories.StillOpen if the fault lasted until the end of the history
	Effective bool          `json:"effective"`
}

// Verdict is the result of judging one history.
type Verdict struct {
	Until    time.Duration `json:"until_ns"` // end of the judged part of the history
	Counts   Counts        `json:"counts"`
	Slack    time.Duration `json:"slack_ns"` // allowance for clock error in every lease
	Bound    time.Duration `json:"bound_ns"` // time within which a free key must be granted to a waiting client
	MaxStall time.Duration `json:"max_stall_ns"`
	Findings []Finding     `json:"findings"`
	Oracle   Oracle        `json:"oracle"`
	Warnings []string      `json:"warnings,omitempty"`

	// Recoveries holds the times from the end of a client to the next grant of its key, in the order of the grants.
	Recoveries []time.Duration `json:"recoveries_ns,omitempty"`
	Faults     []Band          `json:"faults,omitempty"` // faults in the order of their calls, at most a thousand
}

// Finding returns the finding for the named property.
func (v *Verdict) Finding(property string) Finding {
	for _, f := range v.Findings {
		if f.Property == property {
			return f
		}
	}
	return Finding{Property: property, Observed: NotApplicable, Why: "it was not judged"}
}

// Result is the result of one check, which compares an Observed with an expectation. Results are named as in pytest.
type Result uint8

const (
	NoExpectation Result = iota // nothing was expected, or the property does not apply
	Pass                        // expected to hold, and no violation was observed
	XFail                       // expected to be violated, and a violation was observed
	Fail                        // expected to hold, and a violation was observed
	XPass                       // expected to be violated, and no violation was observed: the suite did not detect a known defect
	Inconclusive                // expected to hold, but undecided
)

var resultNames = [...]string{"observed", "pass", "xfail", "FAIL", "xpass", "inconclusive"}

func (r Result) String() string { return histories.NameOf(resultNames[:], int(r)) }

func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Result) UnmarshalText(text []byte) error {
	return histories.Parse(r, resultNames[:], text, "result")
}

// ResultOf compares the verdict on a property with the expectation.
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

// Oracle holds the result of checking the same holds with Porcupine.
type Oracle struct {
	Keys      int           `json:"keys"`
	Pairs     int           `json:"pairs"`             // number of holds checked in each view
	Windows   int           `json:"windows"`           // number of windows searched, for histories too long to be searched at once
	Skipped   int           `json:"skipped,omitempty"` // number of windows not searched, because they were not in the sample
	Undecided int           `json:"undecided,omitempty"`
	Took      time.Duration `json:"took_ns"`
	// Disagreements lists the keys for which the monitor and Porcupine reach different verdicts, which is a defect of
	// lockbench.
	Disagreements []string `json:"disagreements,omitempty"`
}

// Milliseconds formats a duration in ms, with at most three decimals.
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

// Count formats a number with its noun, such as "2 grants".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
