package run

import (
	"fmt"
	"slices"

	"lockbench/reports/html"
)

// exclusionBadges holds the badge of each class. The colour is what happened, expected or not.
var exclusionBadges = [...]html.Badge{
	excluded:    {Class: "result-pass", Symbol: "✓", Word: "excluded"},
	unsettled:   {Class: "result-inconclusive", Symbol: "?", Word: "not settled"},
	withinLease: {Class: "result-inconclusive", Symbol: "~", Word: "only within its lease"},
	overlapped:  {Class: "result-fail", Symbol: "✗", Word: "two held at once"},
}

// ExclusionBadge returns the badge of the class of a lock, a cell or a trial by its observations.
func ExclusionBadge(seen []Observation) html.Badge { return exclusionBadges[exclusionOf(seen)] }

// ExclusionBadges returns a badge with the number of locks for each class of locks, the worst first.
func (r *Results) ExclusionBadges() (all []html.Badge) {
	var locks [len(exclusionBadges)]int
	for _, seen := range r.byLock() {
		locks[exclusionOf(seen)]++
	}
	for class, n := range slices.Backward(locks[:]) {
		if n > 0 {
			b := exclusionBadges[class]
			b.Word = fmt.Sprintf("%d %s", n, b.Word)
			all = append(all, b)
		}
	}
	return all
}

// Headline returns the first sentence of the verdict.
func (r *Results) Headline() string { return r.verdict().Headline }
