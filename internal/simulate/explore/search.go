package explore

import (
	"errors"
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

// Seed holds the result of the case that is generated from one random seed.
type Seed struct {
	Seed       uint64        `json:"seed"`
	Strategy   string        `json:"strategy"`
	Digest     string        `json:"digest"`
	Virtual    time.Duration `json:"virtual_ns"`
	Clients    int           `json:"clients"`
	Operations int           `json:"operations"`
	Judged     []string      `json:"judged"`              // properties with a definite verdict: they hold or are violated
	Violated   []string      `json:"violated,omitempty"`  // violated properties
	Expected   []string      `json:"expected,omitempty"`  // properties that are expected to hold under the seed's fault plan
	Met        []Meeting     `json:"met,omitempty"`       // faults that took effect
	Failed     string        `json:"failed,omitempty"`    // reason why there is no verdict, such as a panic
	Void       string        `json:"void,omitempty"`      // reason why the trial says nothing about the lock, such as a slow machine or a failed action
	History    *Recorded     `json:"history,omitempty"`   // history of a violation on real servers; set only if the property was expected to hold
	Confirmed  bool          `json:"confirmed,omitempty"` // the failure showed again; set only by a search until a failure
}

// Fails returns the properties that were expected to hold but were violated.
func (s Seed) Fails() []string { return intersect(s.Violated, s.Expected) }

// Try runs the case that the seed determines, in virtual time, and returns the outcome. It returns an error if the lock
// cannot be explored.
func (s Subject) Try(seed uint64) (Seed, error) { return s.try(virtual{}, seed) }

func (s Subject) try(x runner, seed uint64) (Seed, error) {
	c, strategy, err := s.Choose(seed)
	if err != nil {
		return Seed{}, err
	}
	out := Seed{Seed: seed, Strategy: strategy, Clients: c.Params.Clients}
	if _, err := c.Trial(); err != nil {
		return out, err
	}
	r, err := x.run(c)
	switch void := (*Void)(nil); {
	case errors.As(err, &void):
		out.Void = void.Why
		return out, nil
	case err != nil:
		out.Failed = err.Error()
		return out, nil
	}
	out.Digest, out.Virtual, out.Operations = r.Digest, r.Verdict.Until, r.Verdict.Counts.Operations
	out.Met = r.met()
	for _, f := range r.Verdict.Findings {
		if decides(c.Plan, f.Property) && (f.Observed == checker.Held || f.Observed == checker.Violated) {
			out.Judged = append(out.Judged, f.Property)
		}
		if r.Header.Expectation(f.Property).Expected == histories.ToHold {
			out.Expected = append(out.Expected, f.Property)
		}
	}
	if out.Violated = r.Violated(); len(out.Fails()) > 0 && !x.repeats() {
		shown, err := r.Show(out.Fails()[0], timelineWidth)
		out.History = shown.History
		return out, err
	}
	return out, nil
}
