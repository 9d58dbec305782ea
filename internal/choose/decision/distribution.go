package decision

import (
	"math"
	"slices"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/selection"
)

// Distribution is a distribution of durations, given by quantiles. Between two quantiles, the probability that a duration is
// longer than x is a power function of x. In the zero Distribution, every duration is 0.
type Distribution struct {
	knots []knot // quantiles, sorted by duration; the first has the shortest duration, and the last has the longest
}

// knot is a duration in nanoseconds, with the share of durations that exceed it.
type knot struct{ at, over float64 }

const rarest = 1e-4 // share of all durations that are as long as the longest one, as FromTimes assumes

// FromTimes returns the distribution with the given quantiles. It interpolates between them with power functions. Below p50, it
// extends the power function between p50 and p99.
func FromTimes(t selection.Times) Distribution {
	p50, p99, longest := nanos(t.P50), nanos(max(t.P99, t.P50)), nanos(max(t.Max, t.P99, t.P50))
	least := p50 * math.Pow(p50/p99, math.Log(1/0.5)/math.Log(0.5/0.01))
	return Distribution{[]knot{{least, 1}, {p50, 0.5}, {p99, 0.01}, {longest, rarest}}}
}

// FromSample returns the distribution of recorded times.
func FromSample(sample []time.Duration) Distribution {
	if len(sample) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(sample))
	n := len(sorted)
	knots := []knot{{nanos(sorted[0]), 1}}
	for q := range 1000 { // use one quantile per percent up to 99 %, and one per 0.1 % above
		if i := n * q / 1000; (q%10 == 0 || q > 990) && i > 0 && i < n-1 {
			knots = append(knots, knot{nanos(sorted[i]), 1 - float64(q)/1000})
		}
	}
	return Distribution{append(knots, knot{nanos(sorted[n-1]), 1 / float64(n)})}
}

func (d Distribution) scaled(by float64) Distribution {
	return Distribution{lo.Map(d.knots, func(k knot, _ int) knot { return knot{k.at * by, k.over} })}
}

func nanos(d time.Duration) float64 { return float64(max(d, 1)) }

// Longest returns the longest duration of the distribution.
func (d Distribution) Longest() time.Duration { return time.Duration(math.Round(d.quantile(0))) }

func (d Distribution) exceeds(x float64) float64 {
	if len(d.knots) > 0 && x < d.knots[0].at {
		return 1
	}
	for i := 1; i < len(d.knots); i++ {
		if a, b := d.knots[i-1], d.knots[i]; x < b.at {
			return a.over * math.Pow(x/a.at, -a.steepness(b))
		}
	}
	return 0
}

// steepness returns the negated exponent of the power function that connects two knots. The knots are known quantiles of a
// distribution. The exponent is infinite if both knots have the same duration.
func (a knot) steepness(b knot) float64 {
	return lo.Ternary(a.at == b.at, math.Inf(1), math.Log(a.over/b.over)/math.Log(b.at/a.at))
}

// quantile returns the duration that is exceeded with the given probability. It interpolates with a power function between the
// knots a and b, which are known quantiles.
func (a knot) quantile(b knot, over float64) float64 {
	return a.at * math.Pow(over/a.over, -1/a.steepness(b))
}

// quantile returns the duration, in nanoseconds, that is exceeded with the given probability.
func (d Distribution) quantile(over float64) (at float64) {
	for i, b := range d.knots {
		if at = b.at; i > 0 && over > b.over {
			return d.knots[i-1].quantile(b, over)
		}
	}
	return at
}

// area returns the integral of the survival function from 0 to x. The survival function at t is the probability that a duration
// exceeds t.
func (d Distribution) area(x float64) float64 {
	if len(d.knots) == 0 || x <= 0 {
		return 0
	}
	sum := min(x, d.knots[0].at)
	for i := 1; i < len(d.knots) && d.knots[i-1].at < x; i++ {
		a, b := d.knots[i-1], d.knots[i]
		to, s := min(b.at, x), a.steepness(b)
		if math.Abs(s-1) < 1e-9 {
			sum += a.over * a.at * math.Log(to/a.at)
		} else {
			sum += a.over * a.at / (1 - s) * (math.Pow(to/a.at, 1-s) - 1)
		}
	}
	return sum
}

func (d Distribution) mean() float64 { return d.area(math.Inf(1)) }

type portion struct{ at, share float64 }

// portions approximates the distribution d by a list of durations with probabilities. The parameter about is the
// approximate length of the list.
func (d Distribution) portions(about int) []portion {
	if len(d.knots) == 0 {
		return []portion{{0, 1}}
	}
	var out []portion
	for i := 1; i < len(d.knots); i++ {
		a, b := d.knots[i-1], d.knots[i]
		n, share := lo.Ternary(a.at == b.at, 1, max(1, about/len(d.knots))), a.over-b.over
		for k := range n {
			if share > 0 {
				over := a.over - share*(float64(k)+0.5)/float64(n)
				out = append(out, portion{a.quantile(b, over), share / float64(n)})
			}
		}
	}
	last := d.knots[len(d.knots)-1]
	return append(out, portion{last.at, last.over})
}

// met returns the distribution of the duration of the hold in progress at a random time. The distribution of all holds is d. A
// longer hold is more likely to be in progress, so each probability is multiplied by its duration. The products are then
// scaled to the sum 1.
func (d Distribution) met(about int) []portion {
	portions := d.portions(about)
	all := lo.SumBy(portions, func(p portion) float64 { return p.share * p.at })
	return lo.Map(portions, func(p portion, _ int) portion { return portion{p.at, p.share * p.at / all} })
}
