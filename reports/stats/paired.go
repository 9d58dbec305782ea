package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Comparison holds the result of comparing one metric of A and B.
type Comparison struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	Point  string  `json:"point"`
	Metric string  `json:"metric"`
	MedA   float64 `json:"median_a"`
	MedB   float64 `json:"median_b"`
	// Ratio is the median of the ratios of A to B: one ratio per block if Paired is true, else one per pair of values. If no
	// ratio can be computed, Ratio is 0 and Note has the reason.
	Ratio  float64  `json:"ratio"`
	Low    *float64 `json:"low"` // Low and High are the 95 % interval of Ratio; null: too few trials
	High   *float64 `json:"high"`
	Paired bool     `json:"paired"` // true: compared by block with a sign-flip test; false: compared with a U test
	Pairs  int      `json:"pairs"`
	P      float64  `json:"p"`
	Holm   float64  `json:"p_holm"` // p-value corrected for all comparisons shown together
	// Differs is true if the difference is significant. In this case Holm is below Alpha, and the interval of Ratio, if
	// known, does not contain 1.
	Differs bool   `json:"differs"`
	Note    string `json:"note,omitempty"`
}

// Parameters of the sign-flip test. With at most exactPairs pairs, the test tries every combination of signs. With more
// pairs, it tries a fixed number of random combinations (constant flips).
const (
	exactPairs = 14
	flips      = 10_000
)

const noRatio = "a value is zero or less, so there is no ratio; the test is of the differences"

// Paired compares two estimates by a sign-flip test on the log ratios, or on the differences if a value is not
// positive. It uses only blocks (rounds of trials) that both estimates contain, so the effect of a block cancels out.
// With many blocks, the test uses random signs that depend on seed.
func Paired(a, b Estimate, seed uint64) Comparison {
	va, vb, _ := Matched(a, b)
	c := Comparison{Paired: true, Pairs: len(va), MedA: Median(va), MedB: Median(vb), P: 1, Holm: 1}
	if len(va) == 0 {
		c.Note = "they were measured in no block together"
		return c
	}
	differences := make([]float64, len(va))
	if slices.Min(va) <= 0 || slices.Min(vb) <= 0 {
		for i := range va {
			differences[i] = va[i] - vb[i]
		}
		c.Note = noRatio
	} else {
		ratios := make([]float64, len(va))
		for i := range va {
			ratios[i] = va[i] / vb[i]
			differences[i] = math.Log(ratios[i])
		}
		s := summary(ratios)
		c.Ratio = s.Center
		c.Low, c.High = finite(s.Lo, s.Hi)
	}
	c.P = SignFlip(differences, seed)
	return c
}

// Matched returns the blocks (rounds of trials) that both estimates contain, in the order of the first estimate. It also
// returns both estimates' values in these blocks.
func Matched(a, b Estimate) (va, vb []float64, blocks []int) {
	for i, block := range a.Blocks {
		if j := slices.Index(b.Blocks, block); j >= 0 {
			va, vb, blocks = append(va, a.Values[i]), append(vb, b.Values[j]), append(blocks, block)
		}
	}
	return va, vb, blocks
}

// SignFlip returns the p-value of a sign-flip test: the proportion of sign choices whose sum is at least as far from 0 as the
// sum of the differences.
func SignFlip(differences []float64, seed uint64) float64 {
	var sum, size float64
	for _, d := range differences {
		sum += d
		size += math.Abs(d)
	}
	far := math.Abs(sum) - 1e-9*size // subtract a small tolerance for rounding errors
	exact, r := len(differences) <= exactPairs, rand.New(rand.NewPCG(seed, uint64(len(differences))))
	tries, reached := flips, 1 // with random signs, count the original signs as one more try, so that the p-value is never 0
	if exact {
		tries, reached = 1<<len(differences), 0
	}
	all := tries + reached
	for i := range tries {
		bits := r.Uint64
		if exact {
			bits = func() uint64 { return uint64(i) }
		}
		if math.Abs(flipped(differences, bits)) >= far {
			reached++
		}
	}
	return float64(reached) / float64(all)
}

// flipped returns the sum of the differences, some with inverted signs. The function bits returns 64 bits per call.
// Each bit that is 1 inverts the sign of one difference.
func flipped(differences []float64, bits func() uint64) float64 {
	var sum float64
	var signs uint64
	for i, d := range differences {
		if i%64 == 0 {
			signs = bits()
		}
		if signs>>(i%64)&1 == 1 {
			d = -d
		}
		sum += d
	}
	return sum
}
