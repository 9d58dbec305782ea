// Package checker defines the verdict on a history. A Verdict has a Finding for each property: the property holds, is
// violated, is undecided, or is not applicable. A violated property has a Witness, the operations that show the
// violation.
//
// Package judge returns verdicts. It derives holds from the events of a history (package projection) and looks for
// violations (package properties). The linearizability checker Porcupine checks exclusion a second time (package
// oracle). A history is read once.
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
	Undecided     Observed = iota // the history has too little evidence; this never counts as a pass
	Held                          // the history shows no violation
	Violated                      // the history shows a violation; the Finding has a Witness
	NotApplicable                 // the property does not apply to the history
)

var observedNames = [...]string{"undecided", "holds", "violated", "not applicable"}

func (o Observed) String() string { return histories.NameOf(observedNames[:], int(o)) }

func (o Observed) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

func (o *Observed) UnmarshalText(text []byte) error {
	return histories.Parse(o, observedNames[:], text, "observation")
}

// Witness is a small part of a history that shows a violation, usually four operations.
type Witness struct {
	Sentence string         `json:"sentence"` // description of the violation, for example which clients held the key at once
	Key      string         `json:"key"`
	From     time.Duration  `json:"from_ns"` // From and To: start and end of the violation
	To       time.Duration  `json:"to_ns"`
	Ops      []histories.Op `json:"ops"` // operations in order of their calls
}

// UnmarshalJSON parses a witness. It also accepts the JSON name that earlier versions used for the field Sentence.
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

// Finding is the verdict on one property, with its evidence.
type Finding struct {
	Property   string   `json:"property"`
	Observed   Observed `json:"observed"`
	Why        string   `json:"why,omitempty"`        // reason why the property is undecided or not applicable
	Evidence   string   `json:"evidence,omitempty"`   // describes the amount of evidence that supports the finding, such as "12 grants"
	Violations int      `json:"violations,omitempty"` // number of violations; Witness shows one of them
	Witness    *Witness `json:"witness,omitempty"`
}

// Counts holds the amount of evidence in a history.
type Counts struct {
	Operations int `json:"operations"`
	Grants     int `json:"grants"`
	Refused    int `json:"refused"`  // number of acquires that were refused (busy)
	Unknown    int `json:"unknown"`  // number of operations that may or may not have taken effect
	HandOffs   int `json:"handoffs"` // number of grants to a client that was already waiting at the previous release
	Expiries   int `json:"expiries"` // number of leases that expired during a hold
	Takeovers  int `json:"takeovers"`

	Faults      int `json:"faults,omitempty"`       // number of faults injected and verified
	Losses      int `json:"losses,omitempty"`       // number of holds that the lock reported as lost
	FalseLosses int `json:"false_losses,omitempty"` // number of reported losses of holds that the store still had
	Stale       int `json:"stale,omitempty"`        // number of operations that a resource refused because of an old fencing token
}

// Band is a fault with its start and end.
type Band struct {
	Name      string        `json:"name"`
	Client    int32         `json:"client"` // client affected by the fault; histories.Harness if the fault affects no single client
	From      time.Duration `json:"from_ns"`
	To        time.Duration `json:"to_ns"` // end of the fault; histories.StillOpen if the history ended first
	Effective bool          `json:"effective"`
}

// Verdict is the result of judging one history.
type Verdict struct {
	Until    time.Duration `json:"until_ns"` // end of the judged part of the history
	Counts   Counts        `json:"counts"`
	Slack    time.Duration `json:"slack_ns"` // allowance for clock error
	Bound    time.Duration `json:"bound_ns"` // maximum time until a waiting client is granted a free key
	MaxStall time.Duration `json:"max_stall_ns"`
	Findings []Finding     `json:"findings"`
	Oracle   Oracle        `json:"oracle"`
	Warnings []string      `json:"warnings,omitempty"`

	// Recoveries holds the recovery times, in order. A recovery time is measured from a fault that ended a client to
	// the next grant of its key.
	Recoveries []time.Duration `json:"recoveries_ns,omitempty"`
	Faults     []Band          `json:"faults,omitempty"` // the first thousand faults, in order of their calls
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

// Result is the result of one check: the verdict on a property, compared with its expectation. The names are those of
// pytest.
type Result uint8

const (
	NoExpectation Result = iota // there is no expectation, or the property does not apply
	Pass                        // expected to hold, and no violation was observed
	XFail                       // expected to be violated, and a violation was observed
	Fail                        // expected to hold, and a violation was observed
	XPass                       // expected to be violated, but no violation was observed: a known defect was not detected
	Inconclusive                // expected to hold, but undecided
)

var resultNames = [...]string{"observed", "pass", "xfail", "FAIL", "xpass", "inconclusive"}

func (r Result) String() string { return histories.NameOf(resultNames[:], int(r)) }

func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Result) UnmarshalText(text []byte) error {
	return histories.Parse(r, resultNames[:], text, "result")
}

// ResultOf compares the verdict on a property with its expectation.
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

// Oracle holds the results of checking exclusion a second time, with Porcupine.
type Oracle struct {
	Keys      int           `json:"keys"`
	Pairs     int           `json:"pairs"`             // number of holds checked
	Windows   int           `json:"windows"`           // number of parts (windows) searched in histories too long to be searched at once
	Skipped   int           `json:"skipped,omitempty"` // number of windows skipped, because only a sample is searched
	Undecided int           `json:"undecided,omitempty"`
	Took      time.Duration `json:"took_ns"`
	// Disagreements lists the keys on which the monitor and Porcupine reach different verdicts. A disagreement is a bug
	// in lockbench.
	Disagreements []string `json:"disagreements,omitempty"`
}

// Milliseconds formats a duration in milliseconds, with one to three decimals.
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

// Count formats a number with a noun, such as "1 grant" or "2 grants".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
