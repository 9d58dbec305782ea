package explore

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/internal/drive/faults"
)

// Story is a counterexample that was made small.
type Story struct {
	Case     Case            `json:"case"`
	Seed     uint64          `json:"seed"`     // in which it was found
	Strategy string          `json:"strategy"` // that found it
	Property string          `json:"property"`
	Violated []string        `json:"violated"` // all that it violates
	Broken   bool            `json:"broken"`   // the lock claims that it does not
	Digest   string          `json:"digest"`
	From     Size            `json:"from"` // as it was found
	To       Size            `json:"to"`
	Trials   int             `json:"trials"` // that it took to make it small
	CutOff   bool            `json:"cut_off,omitempty"`
	Told     []string        `json:"told"`
	Picture  string          `json:"picture"`
	Witness  checker.Witness `json:"witness"`
	Faults   []checker.Band  `json:"faults,omitempty"`
	History  *Recorded       `json:"history,omitempty"`
}

// Recorded is what was recorded of a case, as a file of the corpus.
type Recorded struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Size is how large a case is.
type Size struct {
	Faults     int `json:"faults"`
	Operations int `json:"operations"`
}

// Told is what was made of a subject's violations.
type Told struct {
	Stories          []Story  `json:"stories,omitempty"`
	Nondeterministic []uint64 `json:"nondeterministic,omitempty"` // seeds that recorded something else when run again
	Disagreements    []string `json:"disagreements,omitempty"`    // of the monitor with the oracle: a fault of lockbench
}

// pictureWidth is that of a story's picture, in characters.
const pictureWidth = 100

// mostShrunk is how many violations of a subject are made small at most: the smallest are told.
const mostShrunk = 16

// Tell makes the violations that seeds showed small and tells the most telling ones, at most so many: of each set of
// faults the smallest, what the lock claims first. What fewer faults show as well is not told again. A seed that
// records something else when it is run again is reported, and never told.
func (s Subject) Tell(seeds []Seed, most int, within time.Duration) (Told, error) {
	t := telling{subject: s, until: time.Now().Add(within)}
	for _, seed := range seeds {
		if t.shrunk >= mostShrunk || !time.Now().Before(t.until) {
			break
		}
		if err := t.take(seed); err != nil {
			return t.Told, err
		}
	}
	slices.SortStableFunc(t.Stories, compare)
	t.Stories = t.Stories[:min(most, len(t.Stories))]
	return t.Told, nil
}

type telling struct {
	Told
	subject Subject
	until   time.Time
	shrunk  int
}

// take makes the strongest violation of a seed small that no story explains.
func (t *telling) take(seed Seed) error {
	c, strategy, err := t.subject.Choose(seed.Seed)
	if err != nil {
		return err
	}
	have := names(c.Plan)
	left := slices.DeleteFunc(slices.Clone(seed.Violated), func(p string) bool { return t.explained(p, have, slices.Contains(seed.Broken(), p)) })
	if len(left) == 0 {
		return nil
	}
	slices.SortStableFunc(left, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
	if broken := both(left, seed.Broken()); len(broken) > 0 {
		left = broken
	}
	found, err := c.Run()
	if err != nil {
		return err
	}
	if found.Digest != seed.Digest {
		t.Nondeterministic = append(t.Nondeterministic, seed.Seed)
		return nil
	}
	t.shrunk++
	small := found.Shrink(left[0])
	again, err := small.Case.Run()
	if err != nil || again.Digest != small.Digest {
		t.Nondeterministic = append(t.Nondeterministic, seed.Seed)
		return err
	}
	verdict, err := again.Rejudge() // what is told is judged by the oracle too
	if err != nil {
		return err
	}
	if d := verdict.Oracle.Disagreements; len(d) > 0 {
		t.Disagreements = append(t.Disagreements, d...)
		return nil
	}
	told := story(found, small, seed.Seed, strategy)
	var history strings.Builder
	if err := EmitHistory(&history, again); err != nil {
		return err
	}
	told.History = &Recorded{HistoryName(again), history.String()}
	t.add(told)
	return nil
}

// explained tells whether a violation under these faults may be one that is told already. A broken claim is explained
// by a broken claim only.
func (t *telling) explained(property string, faults []string, broken bool) bool {
	return slices.ContainsFunc(t.Stories, func(s Story) bool {
		return slices.Contains(s.Violated, property) && subset(names(s.Case.Plan), faults) && (s.Broken || !broken)
	})
}

// add keeps a story, and those that it does not make superfluous.
func (t *telling) add(s Story) {
	says := func(a, b Story) bool { // a says what b does, and more plainly
		return slices.Contains(a.Violated, b.Property) && subset(names(a.Case.Plan), names(b.Case.Plan)) && (a.Broken || !b.Broken) && a.To.compare(b.To) <= 0
	}
	if slices.ContainsFunc(t.Stories, func(have Story) bool { return says(have, s) }) {
		return
	}
	t.Stories = slices.DeleteFunc(t.Stories, func(have Story) bool { return says(s, have) })
	t.Stories = append(t.Stories, s)
}

func story(found *Run, small *Shrunk, seed uint64, strategy string) Story {
	f, shown := small.Verdict.Finding(small.Property), small.Example(small.Property)
	return Story{Case: small.Case, Seed: seed, Strategy: strategy, Property: small.Property, Violated: small.Violated(),
		Broken: small.Header.Claim(small.Property).Expected == histories.Holds, Digest: small.Digest,
		From: found.size(), To: small.size(), Trials: small.Trials, CutOff: small.CutOff,
		Told: shown.Events(), Picture: shown.Timeline(pictureWidth), Witness: *f.Witness, Faults: small.Verdict.Faults}
}

func (r *Run) size() Size { return Size{len(r.Plan.Steps), r.Operations()} }

func (s Size) compare(o Size) int {
	return cmp.Or(cmp.Compare(s.Faults, o.Faults), cmp.Compare(s.Operations, o.Operations))
}

// compare puts the most telling story first: a claim that is broken; then what is the lock's own doing before what
// happens to every lock on such a server; then the stronger violation, and the smaller case.
func compare(a, b Story) int {
	rank := func(s Story) int {
		switch {
		case s.Broken:
			return 0
		case outside(s.Case.Plan) == 0:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(weight(a.Property), weight(b.Property)), a.To.compare(b.To), cmp.Compare(a.Seed, b.Seed))
}

// weight is how little a violated property says of the algorithm: the views in which time itself is enough to break
// every lease come last.
func weight(property string) int {
	order := []string{"lease-exclusion", "reentrancy", "owner-release", "recovery", "no-orphan", "progress", "exact-try", "mutual-exclusion",
		"resource-integrity", "fencing", "renewal"}
	if i := slices.Index(order, property); i >= 0 {
		return i
	}
	return len(order)
}

// outside counts the faults that befall servers: whatever a lock does, there are some that it does not survive.
func outside(p faults.Plan) int {
	n := 0
	for _, s := range p.Steps {
		switch s.Do.Verb {
		case faults.Restart, faults.Down, faults.Freeze, faults.Unlink, faults.Failover, faults.Jump, faults.Drift, faults.Evict:
			n++
		}
	}
	return n
}

// names are the names of a plan's steps, each once, in order.
func names(p faults.Plan) []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// subset tells whether all of a are among b.
func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}
