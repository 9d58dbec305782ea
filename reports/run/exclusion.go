package run

import (
	"fmt"
	"slices"

	"lockbench/reports/html"
)

// exclusionKeys holds the legend entry for each possible result for exclusion. The colour does not depend on whether
// the result was expected.
var exclusionKeys = [...]html.Key{
	excluded:    {Badge: html.Badge{Class: "result-pass", Symbol: "✓", Word: "excluded"}, Means: "no two clients held at once, in any trial"},
	unsettled:   {Badge: html.Badge{Class: "result-inconclusive", Symbol: "?", Word: "not settled"}, Means: "the trials do not tell"},
	withinLease: {Badge: html.Badge{Class: "result-inconclusive", Symbol: "~", Word: "only within its lease"}, Means: "two held at once, but only after a lease had ended"},
	overlapped:  {Badge: html.Badge{Class: "result-fail", Symbol: "✗", Word: "two held at once"}, Means: "while a lease lasted, or without a lease"},
}

// ExclusionKeys returns the legend of the exclusion badges, the best result first.
func ExclusionKeys() []html.Key { return exclusionKeys[:] }

// ExclusionBadge returns the badge for the worst exclusion result in a set of observations.
func ExclusionBadge(seen []Observation) html.Badge { return exclusionKeys[exclusionOf(seen)].Badge }

// ExclusionBadges returns a badge for each exclusion result, the worst first, with the number of locks. It omits
// results without locks.
func (r *Results) ExclusionBadges() (all []html.Badge) {
	var locks [len(exclusionKeys)]int
	for _, seen := range r.byLock() {
		locks[exclusionOf(seen)]++
	}
	for class, n := range slices.Backward(locks[:]) {
		if n > 0 {
			b := exclusionKeys[class].Badge
			b.Word += fmt.Sprintf(": %d", n)
			all = append(all, b)
		}
	}
	return all
}

// Headline returns the first sentence of the verdict.
func (r *Results) Headline() string { return r.verdict().Headline }
