package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Comparison is a metric of A as a multiple of that of B.
type Comparison struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	Point  string  `json:"point"`
	Metric string  `json:"metric"`
	MedA   float64 `json:"median_a"`
	MedB   float64 `json:"median_b"`
	// Ratio is the median of the ratios: of those within each block if trials are paired, else of each value to each.
	// 0: there is none, and Note says why.
	Ratio  float64  `json:"ratio"`
	Low    *float64 `json:"low"` // of a 95 % interval; null: too few trials
	High   *float64 `json:"high"`
	Paired bool     `json:"paired"` // trial by trial, of the same blocks: a sign-flip test; else a U test
	Pairs  int      `json:"pairs"`
	P      float64  `json:"p"`
	Holm   float64  `json:"p_holm"` // corrected for all rows that are shown together
	// Differs reports whether the difference is no noise: Holm is below Alpha, and 1 is outside the interval, if any.
	Differs bool   `json:"differs"`
	Note    string `json:"note,omitempty"`
}

// Up to exactPairs pairs all ways to flip the signs are tried, and flips random ones of more.
const (
	exactPairs = 14
	flips      = 10_000
)

const noRatio = "a value is zero or less, so there is no ratio; the test is of the differences"

// Paired compares a metric of two subjects within each block that has both, as what a block's trials have in common then
// cancels out. The test flips the signs of the log ratios; the seed chooses the flips if there are too many for all.
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

// Matched returns the values of the blocks that both have, in the order of a's.
func Matched(a, b Estimate) (va, vb []float64, blocks []int) {
	for i, block := range a.Blocks {
		if j := slices.Index(b.Blocks, block); j >= 0 {
			va, vb, blocks = append(va, a.Values[i]), append(vb, b.Values[j]), append(blocks, block)
		}
	}
	return va, vb, blocks
}

// SignFlip returns the part of all ways to choose the signs whose sum is as far from 0 as that of the differences, or farther.
func SignFlip(differences []float64, seed uint64) float64 {
	var sum, size float64
	for _, d := range differences {
		sum += d
		size += math.Abs(d)
	}
	far := math.Abs(sum) - 1e-9*size // rounding must not make a sum differ from itself
	exact, r := len(differences) <= exactPairs, rand.New(rand.NewPCG(seed, uint64(len(differences))))
	tries, reached := flips, 1 // the signs as they are
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

// flipped returns the sum with a sign from each bit; bits gives the next 64.
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
