package bench

import (
	"cmp"
	"slices"
)

// alpha is how often rows that are shown together may name a difference where there is none.
const alpha = 0.05

// Holm corrects the p-values of rows that are shown together, by Holm's step-down procedure, and tells which differ: those
// below alpha whose interval, where there is one, leaves out 1 as well. The test looks at the mean and the interval at the
// median; where one alone sees a difference, none is named.
func Holm(together []*Comparison) {
	sorted := slices.Clone(together)
	slices.SortStableFunc(sorted, func(a, b *Comparison) int { return cmp.Compare(a.P, b.P) })
	least := 0.0 // a greater p is never corrected to a smaller one
	for i, c := range sorted {
		least = max(least, min(1, c.P*float64(len(sorted)-i)))
		c.Holm = least
		c.Differs = least < alpha && !c.holdsOne()
	}
}

// holdsOne tells whether the interval says that the two may be the same.
func (c *Comparison) holdsOne() bool {
	return c.Low != nil && c.High != nil && *c.Low <= 1 && 1 <= *c.High
}
