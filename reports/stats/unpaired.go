package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Unpaired compares a metric of two runs, whose trials have nothing to do with each other, by a Mann-Whitney U test. The
// ratio is that of Hodges and Lehmann: the median of all ratios of a value of a to one of b; its interval is the one that
// belongs to the same test. Nothing in it is drawn at random.
func Unpaired(a, b Estimate) Comparison {
	c := Comparison{Pairs: min(len(a.Values), len(b.Values)), MedA: Median(a.Values), MedB: Median(b.Values), P: 1, Holm: 1}
	if c.Pairs == 0 {
		c.Note = "one of them was not measured"
		return c
	}
	threshold := &benchmath.Thresholds{CompareAlpha: 1 - confidence}
	c.P = benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(a.Values), threshold), benchmath.NewSample(slices.Clone(b.Values), threshold)).P
	if !Positive(a.Values) || !Positive(b.Values) {
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
	if k := outside(len(a.Values), len(b.Values)); k > 0 {
		low, high := ratios[k-1], ratios[len(ratios)-k]
		c.Low, c.High = &low, &high
	}
	return c
}

// outside is which of the sorted ratios, from either end, bounds the interval: the kth, where at most 2.5 % of all ways to
// mix n values with m give a U below k. 0: there are too few values.
func outside(n, m int) int {
	const tail = (1 - confidence) / 2
	if n*m > 2500 { // the normal distribution is as good
		mean, deviation := float64(n*m)/2, math.Sqrt(float64(n*m)*float64(n+m+1)/12)
		return int(mean - 1.96*deviation)
	}
	var below float64
	for u, p := range uDistribution(n, m) {
		below += p
		if below > tail {
			return u
		}
	}
	return 0
}

// uDistribution is how likely each U is when n values and m are mixed at random. It is counted value by value: the
// largest of all is one of the n, and then greater than all m, or it is one of the m.
func uDistribution(n, m int) []float64 {
	rows := make([][]float64, m+1) // by how many of the m there are
	for j := range rows {
		rows[j] = []float64{1}
	}
	for i := 1; i <= n; i++ {
		rows[0] = []float64{1}
		for j := 1; j <= m; j++ {
			next := make([]float64, i*j+1)
			for u := range next {
				if u >= j && u-j < len(rows[j]) {
					next[u] += rows[j][u-j] * float64(i) / float64(i+j)
				}
				if u < len(rows[j-1]) {
					next[u] += rows[j-1][u] * float64(j) / float64(i+j)
				}
			}
			rows[j] = next
		}
	}
	return rows[m]
}
