package stats

import "gonum.org/v1/gonum/mathext"

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
