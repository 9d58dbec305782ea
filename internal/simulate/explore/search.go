package explore

import (
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

// Seed holds the result of running the case that is generated from one random seed.
type Seed struct {
	Seed       uint64        `json:"seed"`
	Strategy   string        `json:"strategy"`
	Digest     string        `json:"digest"`
	Virtual    time.Duration `json:"virtual_ns"`
	Clients    int           `json:"clients"`
	Operations int           `json:"operations"`
	Judged     []string      `json:"judged"`             // properties with a definite verdict: they hold or are violated
	Violated   []string      `json:"violated,omitempty"` // violated properties
	Expected   []string      `json:"expected,omitempty"` // properties that are expected to hold under the seed's fault plan
	Met        []Meeting     `json:"met,omitempty"`      // faults that took effect
	Failed     string        `json:"failed,omitempty"`   // reason why there is no verdict, such as a panic
}

// Fails returns the properties that were expected to hold but were violated.
func (s Seed) Fails() []string { return both(s.Violated, s.Expected) }

// Try runs the case that the seed determines, and returns the outcome. It returns an error if the lock cannot be
// explored.
func (s Subject) Try(seed uint64) (Seed, error) {
	c, strategy, err := s.Choose(seed)
	if err != nil {
		return Seed{}, err
	}
	out := Seed{Seed: seed, Strategy: strategy, Clients: c.Params.Clients}
	if _, err := c.Trial(); err != nil {
		return out, err
	}
	r, err := c.Run()
	if err != nil {
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
	out.Violated = r.Violated()
	return out, nil
}
