package stats

import "math"

// BinomialInterval returns the 95 % interval of Clopper and Pearson of a share of which k of n were seen: those shares that would not show so
// few, or so many, with less than one in forty.
func BinomialInterval(k, n int) (low, high float64) {
	const tail = 0.025
	low, high = 0, 1
	if n == 0 {
		return low, high
	}
	if k > 0 {
		low = solve(func(p float64) bool { return 1-binomialUpTo(k-1, n, p) < tail })
	}
	if k < n {
		high = solve(func(p float64) bool { return binomialUpTo(k, n, p) > tail })
	}
	return low, high
}

// solve is where what holds of small shares ceases to.
func solve(small func(float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		mid := (low + high) / 2
		if small(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// binomialUpTo is the probability of no more than k of n.
func binomialUpTo(k, n int, p float64) float64 {
	sum := 0.0
	for i := range k + 1 {
		sum += math.Exp(choose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}

// choose is the logarithm of how many ways there are to choose k of n.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
