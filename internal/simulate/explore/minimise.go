package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/internal/drive/faults"
)

// Counterexample is a minimised case that violates a property.
type Counterexample struct {
	Case     Case   `json:"case"`
	Seed     uint64 `json:"seed"`     // in which it was found
	Strategy string `json:"strategy"` // that found it
	Property string `json:"property"`
	Fails    bool   `json:"failed"` // the lock is expected to hold the property
	From     Size   `json:"from"`   // as it was found
	To       Size   `json:"to"`
	Trials   int    `json:"trials"` // that it took to minimise it
	CutOff   bool   `json:"cut_off,omitempty"`
	Shown
	Witness checker.Witness `json:"witness"`
	Faults  []checker.Band  `json:"faults,omitempty"`
}

// Shown is what a case came to, with the events and the timeline of one property.
type Shown struct {
	Violated      []string  `json:"violated"`
	Digest        string    `json:"digest"`
	Events        []string  `json:"told"`
	Timeline      string    `json:"picture"`
	Void          string    `json:"void,omitempty"`          // what did not come about of the plan
	Disagreements []string  `json:"disagreements,omitempty"` // between the monitor and the oracle
	History       *Recorded `json:"history,omitempty"`
}

// Recorded is the history of a case, as a file of the corpus.
type Recorded struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Show judges a run once more, by the oracle as well, and shows how it came to violate a property, or that it did not.
func (r *Run) Show(property string, width int) (Shown, error) {
	verdict, err := r.Rejudge()
	if err != nil {
		return Shown{}, fmt.Errorf("judge what it records: %w", err)
	}
	var history strings.Builder
	if err := EmitHistory(&history, r); err != nil {
		return Shown{}, err
	}
	example := r.Example(property)
	return Shown{Violated: r.Violated(), Digest: r.Digest, Void: r.Void, Disagreements: verdict.Oracle.Disagreements,
		Events: example.Events(), Timeline: example.Timeline(width), History: &Recorded{HistoryName(r), history.String()}}, nil
}

func (f File) show(width int) (Shown, error) {
	r, err := f.Run()
	if err != nil {
		return Shown{}, err
	}
	return r.Show(f.Property, width)
}

// Size is how large a case is.
type Size struct {
	Faults     int `json:"faults"`
	Operations int `json:"operations"`
}

func (s Size) compare(o Size) int {
	return cmp.Or(cmp.Compare(s.Faults, o.Faults), cmp.Compare(s.Operations, o.Operations))
}

// Minimised is what was made of a subject's violations.
type Minimised struct {
	Counterexamples  []Counterexample `json:"stories,omitempty"`
	Nondeterministic []uint64         `json:"nondeterministic,omitempty"` // seeds that recorded something else when run again
	Disagreements    []string         `json:"disagreements,omitempty"`    // between the monitor and the oracle: a defect of lockbench
}

// timelineWidth is the width of a counterexample's timeline, in characters.
const timelineWidth = 98

// mostMinimised is how many violations of a subject are minimised at most.
const mostMinimised = 16

// Minimise minimises the violations that seeds showed and returns at most so many: the smallest of each set of faults,
// broken expectations first, and none that fewer faults show as well. A seed that records something else when it is run
// again is reported instead.
func (s Subject) Minimise(seeds []Seed, most int, within time.Duration) (Minimised, error) {
	m := minimiser{subject: s}
	until := time.Now().Add(within)
	for _, seed := range seeds {
		if m.count >= mostMinimised || !time.Now().Before(until) {
			break
		}
		if err := m.take(seed); err != nil {
			return m.Minimised, err
		}
	}
	slices.SortStableFunc(m.Counterexamples, compare)
	m.Counterexamples = m.Counterexamples[:min(most, len(m.Counterexamples))]
	return m.Minimised, nil
}

type minimiser struct {
	Minimised
	subject Subject
	count   int
}

// take minimises the strongest violation of a seed that no counterexample explains.
func (m *minimiser) take(seed Seed) error {
	c, _, err := m.subject.Choose(seed.Seed)
	if err != nil {
		return err
	}
	have, broken := names(c.Plan), seed.Fails()
	left := slices.DeleteFunc(slices.Clone(seed.Violated), func(p string) bool {
		return slices.ContainsFunc(m.Counterexamples, func(s Counterexample) bool { return s.explains(p, have, slices.Contains(broken, p)) })
	})
	if len(left) == 0 {
		return nil
	}
	slices.SortStableFunc(left, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
	property := append(both(left, broken), left...)[0]
	found, err := c.Run()
	if err != nil {
		return err
	}
	if found.Digest != seed.Digest {
		m.Nondeterministic = append(m.Nondeterministic, seed.Seed)
		return nil
	}
	m.count++
	small := found.shrink(property)
	again, err := small.Case.Run()
	if err != nil || again.Digest != small.Digest {
		m.Nondeterministic = append(m.Nondeterministic, seed.Seed)
		return err
	}
	shown, err := again.Show(property, timelineWidth)
	if err != nil {
		return err
	}
	if len(shown.Disagreements) > 0 {
		m.Disagreements = append(m.Disagreements, shown.Disagreements...)
		return nil
	}
	m.add(Counterexample{Case: again.Case, Seed: seed.Seed, Strategy: seed.Strategy, Property: property,
		Fails: again.Header.Expectation(property).Expected == histories.ToHold, From: found.size(), To: again.size(), Trials: small.trials,
		CutOff: small.cutOff, Shown: shown, Witness: *again.Verdict.Finding(property).Witness, Faults: again.Verdict.Faults})
	return nil
}

// explains reports whether the counterexample violates a property too, with no more kinds of faults. Only a broken
// expectation explains another.
func (c Counterexample) explains(property string, faults []string, broken bool) bool {
	return slices.Contains(c.Violated, property) && subset(names(c.Case.Plan), faults) && (c.Fails || !broken)
}

// add adds a counterexample unless a smaller one covers it, and removes those that it covers.
func (m *minimiser) add(s Counterexample) {
	covers := func(a, b Counterexample) bool {
		return a.explains(b.Property, names(b.Case.Plan), b.Fails) && a.To.compare(b.To) <= 0
	}
	if slices.ContainsFunc(m.Counterexamples, func(have Counterexample) bool { return covers(have, s) }) {
		return
	}
	m.Counterexamples = slices.DeleteFunc(m.Counterexamples, func(have Counterexample) bool { return covers(s, have) })
	m.Counterexamples = append(m.Counterexamples, s)
}

// compare sorts broken expectations first, then violations without a fault of a server, which no lock survives in all
// cases, then the stronger property and the smaller case.
func compare(a, b Counterexample) int {
	rank := func(s Counterexample) int {
		switch {
		case s.Fails:
			return 0
		case s.Case.Plan.Kind() == faults.Servers:
			return 2
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(weight(a.Property), weight(b.Property)), a.To.compare(b.To), cmp.Compare(a.Seed, b.Seed))
}

// weight is how little a violated property says of the algorithm: those that a long pause alone violates come last.
func weight(property string) int {
	order := []string{"lease-exclusion", "reentrancy", "owner-release", "recovery", "no-orphan", "progress", "exact-try", "mutual-exclusion",
		"resource-integrity", "fencing", "renewal", property}
	return slices.Index(order, property)
}

// names returns the names of a plan's steps, each once, sorted.
func names(p faults.Plan) []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return !slices.Contains(b, x) })
}

func subset(a, b []string) bool { return len(both(a, b)) == len(a) }
