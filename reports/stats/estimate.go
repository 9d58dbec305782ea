// Package stats has the statistics of all reports: medians with intervals, the interval of a share, paired and unpaired tests.
package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Estimate is a metric over trials: the median and an interval that contains the true one with the stated confidence
// (golang.org/x/perf/benchmath, which assumes nothing of the distribution).
type Estimate struct {
	Median     float64   `json:"median"`
	Low        *float64  `json:"low"` // null: too few trials for a finite interval
	High       *float64  `json:"high"`
	Confidence float64   `json:"confidence,omitempty"` // that was reached: at least 0.95 where Low and High are there
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

// finite is an interval, or none where there were too few values for one.
func finite(low, high float64) (lo, hi *float64) {
	if math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsNaN(low) || math.IsNaN(high) {
		return nil, nil
	}
	return &low, &high
}

// Median returns the median of values; 0 of none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
