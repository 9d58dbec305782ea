package stats

import (
	"math"
	"slices"
	"sort"

	ustats "github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Unpaired compares a metric of two runs by a Mann-Whitney U test. The ratio is the Hodges-Lehmann estimate: the median of all
// ratios of a value of the first run to a value of the second. The interval of the ratio comes from the same test.
func Unpaired(a, b Estimate) Comparison {
	c := Comparison{Pairs: min(len(a.Values), len(b.Values)), MedA: Median(a.Values), MedB: Median(b.Values), P: 1, Holm: 1}
	if c.Pairs == 0 {
		c.Note = "one of them was not measured"
		return c
	}
	threshold := &benchmath.Thresholds{CompareAlpha: 1 - confidence}
	c.P = benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(a.Values), threshold), benchmath.NewSample(slices.Clone(b.Values), threshold)).P
	if slices.Min(a.Values) <= 0 || slices.Min(b.Values) <= 0 {
		c.Note = noRatio
		return c
	}
	ratios := make([]float64, 0, len(a.Values)*len(b.Values))
	for _, va := range a.Values {
		for _, vb := range b.Values {
			ratios = append(ratios, va/vb)
		}
	}
	slices.Sort(ratios)
	c.Ratio = Median(ratios)
	if k := confidenceRank(len(a.Values), len(b.Values)); k > 0 {
		low, high := ratios[k-1], ratios[len(ratios)-k]
		c.Low, c.High = &low, &high
	}
	return c
}

// confidenceRank returns k such that the k-th smallest and the k-th largest ratio limit the 95 % confidence interval.
// If both samples have the same distribution, the Mann-Whitney statistic U is below k with probability at most 2.5 %.
// If there are too few values, confidenceRank returns 0.
func confidenceRank(n, m int) int {
	const tail = (1 - confidence) / 2
	if n*m > 2500 { // with so many values, a normal approximation of the distribution of U is accurate enough
		mean, deviation := float64(n*m)/2, math.Sqrt(float64(n*m)*float64(n+m+1)/12)
		return int(mean - 1.96*deviation)
	}
	u := ustats.UDist{N1: n, N2: m}
	return sort.Search(n*m, func(k int) bool { return u.CDF(float64(k)) > tail })
}
