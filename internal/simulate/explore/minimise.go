package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/drive/faults"
)

// Counterexample is a minimised case that violates a property.
type Counterexample struct {
	Case     Case   `json:"case"`
	Seed     uint64 `json:"seed"`
	Strategy string `json:"strategy"`
	Property string `json:"property"`
	Fails    bool   `json:"failed"` // whether the violated property was expected to hold
	From     Size   `json:"from"`   // size before minimising
	To       Size   `json:"to"`
	Trials   int    `json:"trials"`            // number of trials that minimising took
	Rate     *Rate  `json:"rate,omitempty"`    // share of trials on real servers in which the minimised case showed the violation
	CutOff   bool   `json:"cut_off,omitempty"` // whether minimising stopped at its time limit
	Shown
	Witness checker.Witness `json:"witness"`
	Faults  []checker.Band  `json:"faults,omitempty"`
}

// Shown holds the result of a case, with the event list and the timeline for one property.
type Shown struct {
	Server        string    `json:"server,omitempty"` // product and version of the servers
	Violated      []string  `json:"violated"`
	Digest        string    `json:"digest"`
	Events        []string  `json:"events"`
	Timeline      string    `json:"timeline"`
	Example       string    `json:"example,omitempty"`       // one sentence that describes the violation
	Incomplete    string    `json:"incomplete,omitempty"`    // faults of the plan that did not occur
	Disagreements []string  `json:"disagreements,omitempty"` // differences between the results of the two independent checks; they mean that lockbench has a defect
	History       *Recorded `json:"history,omitempty"`
}

// Recorded holds the history of a case as text, and a suitable file name.
type Recorded struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Show judges the recorded history again, with both independent checks. It returns the result with the event list
// and the timeline for a property. width is the width of the timeline in characters.
func (r *Run) Show(property string, width int) (Shown, error) {
	verdict, err := r.Rejudge()
	if err != nil {
		return Shown{}, fmt.Errorf("judge the recorded history: %w", err)
	}
	var history strings.Builder
	if err := EmitHistory(&history, r); err != nil {
		return Shown{}, err
	}
	example := r.Example(property)
	var sentence string
	if w := r.Verdict.Finding(property).Witness; w != nil {
		sentence = w.Sentence
	}
	return Shown{Server: r.Header.Server, Example: sentence, Violated: r.Violated(), Digest: r.Digest, Incomplete: r.Discarded, Disagreements: verdict.Oracle.Disagreements,
		Events: example.Events(), Timeline: example.Timeline(width), History: &Recorded{HistoryName(r), history.String()}}, nil
}

func (f File) show(width int) (Shown, error) {
	r, err := f.Run()
	if err != nil {
		return Shown{}, err
	}
	return r.Show(f.Property, width)
}

// Size holds the numbers of faults and operations of a case. A smaller case is easier to understand.
type Size struct {
	Faults     int `json:"faults"`
	Operations int `json:"operations"`
}

func (s Size) compare(o Size) int {
	return cmp.Or(cmp.Compare(s.Faults, o.Faults), cmp.Compare(s.Operations, o.Operations))
}

// Minimised holds the counterexamples found for one lock, and the problems found while minimising.
type Minimised struct {
	Counterexamples  []Counterexample `json:"counterexamples,omitempty"`
	Nondeterministic []uint64         `json:"nondeterministic,omitempty"` // seeds for which a repeated trial recorded another history without the violation
	Unconfirmed      []Unconfirmed    `json:"unconfirmed,omitempty"`      // violations on real servers that did not show again
	Disagreements    []string         `json:"disagreements,omitempty"`    // differences between the results of the two independent checks; they mean that lockbench has a defect
}

// Unconfirmed is a violation that a search on real servers found once. It did not show again in the trials that Rate
// counts.
type Unconfirmed struct {
	Seed     uint64 `json:"seed"`
	Property string `json:"property"`
	Fails    bool   `json:"failed"` // whether the violated property was expected to hold
	Rate     Rate   `json:"rate"`

	History *Recorded `json:"history,omitempty"` // history of the trial with the violation; set only if the property was expected to hold
}

// timelineWidth is the width in characters of the timelines of counterexamples.
const timelineWidth = 98

// mostMinimised is the maximum number of violations of one lock that are minimised.
const mostMinimised = 16

// Minimise minimises the violations found with the seeds. It returns the counterexamples, failed expectations first. The
// parameter most limits their number. Minimise omits a counterexample if a smaller one shows the same violation with the
// same faults or fewer. A seed is nondeterministic if a repeated trial records a different history
// and the violation does not show again.
func (s Subject) Minimise(seeds []Seed, most int, timeLimit time.Duration) (Minimised, error) {
	return s.minimise(virtual{}, seeds, most, timeLimit)
}

func (s Subject) minimise(x runner, seeds []Seed, most int, timeLimit time.Duration) (Minimised, error) {
	m := minimiser{subject: s, runner: x, until: time.Now().Add(timeLimit)}
	for i, seed := range seeds {
		enough := !x.repeats() && len(m.Counterexamples) >= most // on real servers, a trial takes seconds
		if enough || m.count >= mostMinimised || !time.Now().Before(m.until) {
			m.addUnconfirmed(seeds[i:])
			break
		}
		if err := m.minimiseSeed(seed); err != nil {
			return m.Minimised, err
		}
	}
	slices.SortStableFunc(m.Counterexamples, compare)
	m.Counterexamples = m.Counterexamples[:min(most, len(m.Counterexamples))]
	return m.Minimised, nil
}

// addUnconfirmed records violations on real servers as unconfirmed if there was no time to confirm them.
func (m *minimiser) addUnconfirmed(seeds []Seed) {
	if m.runner.repeats() {
		return
	}
	for _, seed := range seeds {
		for _, property := range seed.Fails() {
			shown := slices.ContainsFunc(m.Counterexamples, func(c Counterexample) bool { return c.Fails && slices.Contains(c.Violated, property) })
			listed := slices.ContainsFunc(m.Unconfirmed, func(u Unconfirmed) bool { return u.Fails && u.Property == property })
			if !shown && !listed {
				m.unconfirmed(seed, property, Rate{})
			}
		}
	}
}

type minimiser struct {
	Minimised
	subject Subject
	runner  runner
	until   time.Time
	count   int
}

// minimiseSeed runs the case of a seed again and minimises it for one violated property. It ignores a property if an
// existing counterexample covers it. It prefers failed expectations, then the most significant property. If no property
// is left, minimiseSeed does not run the case.
func (m *minimiser) minimiseSeed(seed Seed) error {
	c, _, err := m.subject.Choose(seed.Seed)
	if err != nil {
		return err
	}
	have, fails := names(c.Plan), seed.Fails()
	left := slices.DeleteFunc(slices.Clone(seed.Violated), func(p string) bool {
		return slices.ContainsFunc(m.Counterexamples, func(s Counterexample) bool { return s.covers(p, have, slices.Contains(fails, p)) })
	})
	if len(left) == 0 {
		return nil
	}
	slices.SortStableFunc(left, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	property := append(intersect(left, fails), left...)[0]
	x, found, rate, err := m.reproduce(c, seed, property)
	if found == nil || err != nil {
		return err
	}
	m.count++
	small := found.shrink(x, property, rate.tries(), m.deadline())
	last, shows, err := m.rerunMinimised(x, small)
	if last == nil && err == nil && !x.repeats() { // the minimised case did not show the violation; use the original case
		small, last, shows = &shrinker{Run: found, property: property}, found, rate
	}
	if last == nil || err != nil {
		return err
	}
	shown, err := last.Show(property, timelineWidth)
	if err != nil {
		return err
	}
	if len(shown.Disagreements) > 0 {
		m.Disagreements = append(m.Disagreements, shown.Disagreements...)
		return nil
	}
	m.add(Counterexample{Case: last.Case, Seed: seed.Seed, Strategy: seed.Strategy, Property: property, Rate: shows,
		Fails: last.expects(property), From: found.size(), To: last.size(), Trials: small.trials,
		CutOff: small.cutOff, Shown: shown, Witness: *last.Verdict.Finding(property).Witness, Faults: last.Verdict.Faults})
	return nil
}

// mostRealTime is the time limit for minimising one case on real servers.
const mostRealTime = time.Minute

// deadline returns the time at which minimising one case ends.
func (m *minimiser) deadline() time.Time {
	if m.runner.repeats() {
		return time.Now().Add(mostTime)
	}
	if limit := time.Now().Add(mostRealTime); limit.Before(m.until) {
		return limit
	}
	return m.until
}

// confirming is the number of trials on real servers that confirm a violation. reported is the number of trials that
// determine the rate of a counterexample.
const (
	confirming = 5
	reported   = 10
)

// reproduce repeats the case of a seed, and returns the runner that minimises it. It returns no run if the violation does not show. In
// virtual time the rate is nil, unless the lock makes a random choice.
func (m *minimiser) reproduce(c Case, seed Seed, property string) (x runner, found *Run, rate *Rate, err error) {
	if m.runner.repeats() {
		x, found, rate, err = again(c, seed, property)
		if err == nil && found == nil {
			m.Nondeterministic = append(m.Nondeterministic, seed.Seed)
		}
		return x, found, rate, err
	}
	found, of, err := confirm(m.runner, c, property)
	if err == nil && found == nil {
		m.unconfirmed(seed, property, of)
	}
	return m.runner, found, &of, err
}

func (m *minimiser) unconfirmed(seed Seed, property string, of Rate) {
	m.Unconfirmed = append(m.Unconfirmed, Unconfirmed{seed.Seed, property, slices.Contains(seed.Fails(), property), of, seed.History})
}

// tries returns how many trials are needed to show the violation at least once with a probability of 90 %. It returns at
// most the constant confirming.
func (r *Rate) tries() int {
	if r == nil {
		return 1
	}
	n := 0
	for missed := 1.0; missed > 0.1 && n < confirming; n++ {
		missed *= 1 - float64(r.Shows)/float64(max(1, r.Trials))
	}
	return n
}

// rerunMinimised runs the minimised case once more. It returns nil if the violation does not show. On real servers it
// runs the case several times and returns the rate.
func (m *minimiser) rerunMinimised(x runner, s *shrinker) (*Run, *Rate, error) {
	if !x.repeats() {
		r, rate, err := repeat(x, s.Case, s.property, reported)
		return r, &rate, err
	}
	r, err := x.run(s.Case)
	if err == nil && r.Digest != s.Digest {
		m.Nondeterministic = append(m.Nondeterministic, s.Params.Seed)
		r = nil
	}
	return r, nil, err
}

// covers reports whether c makes a counterexample for the property and the faults unnecessary. For this, c must violate
// the property, and every fault of c must be in the list. If fails is true, c must also show a failed expectation.
func (c Counterexample) covers(property string, faults []string, fails bool) bool {
	return slices.Contains(c.Violated, property) && subset(names(c.Case.Plan), faults) && (c.Fails || !fails)
}

// add stores the counterexample s unless a stored one makes it unnecessary (see Counterexample.covers). It then removes
// the stored counterexamples that s makes unnecessary. A larger counterexample never makes a smaller one unnecessary.
func (m *minimiser) add(s Counterexample) {
	covers := func(a, b Counterexample) bool {
		return a.covers(b.Property, names(b.Case.Plan), b.Fails) && a.To.compare(b.To) <= 0
	}
	if slices.ContainsFunc(m.Counterexamples, func(have Counterexample) bool { return covers(have, s) }) {
		return
	}
	m.Counterexamples = slices.DeleteFunc(m.Counterexamples, func(have Counterexample) bool { return covers(s, have) })
	m.Counterexamples = append(m.Counterexamples, s)
}

// compare orders counterexamples. Failed expectations come first, then violations without server faults, then all
// others. Within each class, the order is by property, then by size.
func compare(a, b Counterexample) int {
	class := func(s Counterexample) int {
		switch {
		case s.Fails:
			return 0
		case s.Case.Plan.Kind() == faults.Servers:
			return 2
		}
		return 1
	}
	return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(rank(a.Property), rank(b.Property)), a.To.compare(b.To), cmp.Compare(a.Seed, b.Seed))
}

// rank returns the position of a property in the order of significance. The most significant property has the
// smallest rank.
func rank(property string) int {
	order := []string{"lease-exclusion", "reentrancy", "owner-release", "recovery", "no-orphan", "progress", "exact-try", "truthful-answer",
		"abandoned-acquire", "responsive", "prompt-hand-off", "wait-honoured", "loss-notice", "mutual-exclusion", "resource-integrity", "fencing",
		"renewal", property}
	return slices.Index(order, property)
}

// names returns the sorted names of the faults in a plan, without duplicates.
func names(p faults.Plan) []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return !slices.Contains(b, x) })
}

func subset(a, b []string) bool { return len(intersect(a, b)) == len(a) }
