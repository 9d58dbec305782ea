// Package stats has the statistics of all reports: medians with intervals, the interval of a share, paired and unpaired tests.
package stats

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/mathext"
)

// Estimate is a metric over trials: the median and an interval that contains the true one with the stated confidence
// (golang.org/x/perf/benchmath, which assumes nothing of the distribution).
type Estimate struct {
	Median     float64   `json:"median"`
	Low        *float64  `json:"low"` // null: too few trials for a finite interval
	High       *float64  `json:"high"`
	Confidence float64   `json:"confidence,omitempty"` // that was reached: at least 0.95 if there are Low and High
	N          int       `json:"n"`
	Values     []float64 `json:"values"` // by block
	Blocks     []int     `json:"blocks"`
}

const confidence = 0.95

// EstimateOf returns the median of values and its interval; blocks holds the block of each value.
func EstimateOf(values []float64, blocks []int) Estimate {
	e := Estimate{N: len(values), Values: values, Blocks: blocks}
	if len(values) == 0 {
		return e
	}
	s := summary(values)
	e.Median = s.Center
	e.Low, e.High = finite(s.Lo, s.Hi)
	if e.Low != nil {
		e.Confidence = s.Confidence
	}
	return e
}

// summary assumes nothing of the distribution: the interval lies between two of the values.
func summary(values []float64) benchmath.Summary {
	sorted := slices.Clone(values) // NewSample sorts what it is given
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(sorted, &benchmath.Thresholds{CompareAlpha: 1 - confidence}), confidence)
}

// finite returns an interval, or nil if there were too few values for one.
func finite(low, high float64) (lo, hi *float64) {
	if math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsNaN(low) || math.IsNaN(high) {
		return nil, nil
	}
	return &low, &high
}

// Median returns the median of values; 0 of none.
func Median(values []float64) float64 {
	sorted, n := slices.Sorted(slices.Values(values)), len(values)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// BinomialInterval returns the 95 % interval of Clopper and Pearson of a share of which k of n were seen: those shares that
// would not show so few, or so many, with less than one in forty.
func BinomialInterval(k, n int) (low, high float64) {
	const tail = (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 && n > 0 {
		low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), tail)
	}
	if k < n {
		high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-tail)
	}
	return low, high
}

// Alpha bounds how often rows that are shown together name a difference that does not exist.
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
