// Package stats computes the statistics of all reports. EstimateOf returns the median of values with its interval (Estimate);
// Paired and Unpaired compare two sets of values and return a Comparison; BinomialInterval returns the interval of a share.
package stats

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/mathext"
)

// Estimate holds the median of a metric over trials, and an interval that contains the true median with the stated
// confidence. The interval is valid for any distribution.
type Estimate struct {
	Median     float64   `json:"median"`
	Low        *float64  `json:"low"` // lower bound; null: too few trials for a finite interval
	High       *float64  `json:"high"`
	Confidence float64   `json:"confidence,omitempty"` // confidence level of the interval from Low to High; at least 0.95 if both are set
	N          int       `json:"n"`
	Values     []float64 `json:"values"` // one value for each block (round of trials)
	Blocks     []int     `json:"blocks"`
}

const confidence = 0.95

// EstimateOf returns the median of values with its interval. The value values[i] was measured in block blocks[i]; a block is a
// round of trials.
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

// summary returns the median of values and its interval. The bounds of the interval are two of the values, so it is
// valid for any distribution.
func summary(values []float64) benchmath.Summary {
	sorted := slices.Clone(values) // copy the values, because NewSample sorts its argument
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(sorted, &benchmath.Thresholds{CompareAlpha: 1 - confidence}), confidence)
}

// finite returns the bounds of an interval, or nil if a bound is infinite or NaN because there are too few values.
func finite(low, high float64) (lo, hi *float64) {
	if math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsNaN(low) || math.IsNaN(high) {
		return nil, nil
	}
	return &low, &high
}

// Median returns the median of values, or 0 if values is empty.
func Median(values []float64) float64 {
	sorted, n := slices.Sorted(slices.Values(values)), len(values)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// BinomialInterval returns the 95 % Clopper-Pearson interval of a proportion, if k of n trials were successes.
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

// Alpha is the significance level for all comparisons that are shown together.
const Alpha = 0.05

// Holm corrects the p-values of comparisons that are shown together. It uses Holm's step-down procedure. It sets
// Differs if the corrected p-value is below Alpha and the interval does not contain 1. Both conditions are required,
// because the p-value of a paired test concerns the mean, but the interval concerns the median.
func Holm(together []*Comparison) {
	sorted := slices.Clone(together)
	slices.SortStableFunc(sorted, func(a, b *Comparison) int { return cmp.Compare(a.P, b.P) })
	least := 0.0 // smallest p-value allowed next, because corrected p-values must not decrease
	for i, c := range sorted {
		least = max(least, min(1, c.P*float64(len(sorted)-i)))
		c.Holm = least
		c.Differs = least < Alpha && (c.Low == nil || c.High == nil || *c.Low > 1 || *c.High < 1)
	}
}

// SmallestP returns the smallest p-value that a comparison of n values with m values can have.
func SmallestP(c Comparison, n, m int) float64 {
	if c.Paired && c.Pairs > exactPairs {
		return 1.0 / (flips + 1)
	}
	if c.Paired {
		return math.Pow(2, 1-float64(max(1, c.Pairs)))
	}
	mixes := 1.0 // number of ways to choose n of the n+m values
	for i := 1; i <= n; i++ {
		mixes *= float64(m+i) / float64(i)
	}
	return min(1, 2/mixes)
}
