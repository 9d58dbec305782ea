package stats

import (
	"cmp"
	"math"
	"slices"
)

// Alpha is how often rows that are shown together may name a difference where there is none.
const Alpha = 0.05

// Holm corrects the p-values of rows that are shown together, by Holm's step-down procedure. Those below Alpha differ,
// unless they have an interval that contains 1: the test looks at the mean, the interval at the median.
func Holm(together []*Comparison) {
	sorted := slices.Clone(together)
	slices.SortStableFunc(sorted, func(a, b *Comparison) int { return cmp.Compare(a.P, b.P) })
	least := 0.0 // a greater p is never corrected to a smaller one
	for i, c := range sorted {
		least = max(least, min(1, c.P*float64(len(sorted)-i)))
		c.Holm = least
		c.Differs = least < Alpha && (c.Low == nil || c.High == nil || *c.Low > 1 || *c.High < 1)
	}
}

// SmallestP returns the smallest p that a comparison of n values with m can have.
func SmallestP(c Comparison, n, m int) float64 {
	if c.Paired && c.Pairs > exactPairs {
		return 1.0 / (flips + 1)
	}
	if c.Paired {
		return math.Pow(2, 1-float64(max(1, c.Pairs)))
	}
	mixes := 1.0 // ways to mix n values with m
	for i := 1; i <= n; i++ {
		mixes *= float64(m+i) / float64(i)
	}
	return min(1, 2/mixes)
}
