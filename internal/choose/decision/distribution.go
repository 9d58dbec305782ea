package decision

import (
	"math"
	"slices"
	"time"

	"lockbench/reports/selection"
)

// Distribution is how long something takes, known by some of its quantiles. Between two of them the share that takes longer
// falls as a power of the time, which is a straight line where both are drawn in logarithms: tails of pauses and of round
// trips look so, and a longer one is never held for less likely than it was seen to be. Nothing takes longer than the
// longest: beyond what was ever seen it knows nothing. The zero Distribution takes no time at all.
type Distribution struct {
	knots []knot // by rising time; the first has all over it, and what the last has over it takes as long as that one
}

// knot is a time in nanoseconds and the share of what takes longer.
type knot struct{ at, over float64 }

// rarest is how rare the longest ever seen is taken to be where nobody says of how many it is the longest.
const rarest = 1e-4

// FromTimes is the distribution with these quantiles. Below the median it goes on as between the median and the 99th
// percentile.
func FromTimes(t selection.Times) Distribution {
	p50, p99, longest := nanos(t.P50), nanos(max(t.P99, t.P50)), nanos(max(t.Max, t.P99, t.P50))
	least := p50 * math.Pow(p50/p99, math.Log(1/0.5)/math.Log(0.5/0.01))
	return Distribution{[]knot{{least, 1}, {p50, 0.5}, {p99, 0.01}, {longest, rarest}}}
}

// sampled are the quantiles that are kept of a sample, in thousandths.
const sampled = 1000

// FromSample is the distribution of what was recorded; the zero one where nothing was.
func FromSample(sample []time.Duration) Distribution {
	if len(sample) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(sample))
	n := len(sorted)
	knots := []knot{{nanos(sorted[0]), 1}}
	for q := 10; q < sampled; q += step(q) {
		if i := n * q / sampled; i > 0 && i < n-1 {
			knots = append(knots, knot{nanos(sorted[i]), 1 - float64(q)/sampled})
		}
	}
	return Distribution{append(knots, knot{nanos(sorted[n-1]), 1 / float64(n)})}
}

// step is finer where few take longer.
func step(q int) int {
	if q >= 990 {
		return 1
	}
	return 10
}

// Always is the distribution of what takes the same time whenever.
func Always(d time.Duration) Distribution { return FromTimes(selection.Times{P50: d, P99: d, Max: d}) }

// scaled is the same with every time multiplied.
func (d Distribution) scaled(by float64) Distribution {
	out := Distribution{slices.Clone(d.knots)}
	for i := range out.knots {
		out.knots[i].at *= by
	}
	return out
}

// nanos is never zero, which has no logarithm.
func nanos(d time.Duration) float64 { return float64(max(d, 1)) }

// Longest is the longest that was ever seen.
func (d Distribution) Longest() time.Duration {
	if len(d.knots) == 0 {
		return 0
	}
	return time.Duration(math.Round(d.knots[len(d.knots)-1].at))
}

// exceeds is the share that takes longer than x.
func (d Distribution) exceeds(x float64) float64 {
	n := len(d.knots)
	switch {
	case n == 0 || x >= d.knots[n-1].at:
		return 0
	case x < d.knots[0].at:
		return 1
	}
	i, _ := slices.BinarySearchFunc(d.knots, x, func(k knot, x float64) int {
		if k.at <= x {
			return -1
		}
		return 1
	})
	a := d.knots[i-1]
	return a.over * math.Pow(x/a.at, -a.steepness(d.knots[i]))
}

// steepness is the exponent of the power between two knots.
func (a knot) steepness(b knot) float64 { return math.Log(a.over/b.over) / math.Log(b.at/a.at) }

// quantile returns the time in nanoseconds that a share takes longer than.
func (d Distribution) quantile(over float64) float64 {
	for i := 1; i < len(d.knots); i++ {
		a, b := d.knots[i-1], d.knots[i]
		if over <= b.over {
			continue
		}
		if a.at == b.at {
			return a.at
		}
		return a.at * math.Pow(over/a.over, -1/a.steepness(b))
	}
	if n := len(d.knots); n > 0 {
		return d.knots[n-1].at
	}
	return 0
}

// area is the integral of exceeds from 0 to x: how much of x passes before the thing is over, on average.
func (d Distribution) area(x float64) float64 {
	if len(d.knots) == 0 || x <= 0 {
		return 0
	}
	sum := min(x, d.knots[0].at)
	for i := 1; i < len(d.knots) && d.knots[i-1].at < x; i++ {
		sum += d.knots[i-1].areaUnder(d.knots[i], x)
	}
	return sum
}

// areaUnder is the part of the area between two knots.
func (a knot) areaUnder(b knot, x float64) float64 {
	to := min(b.at, x)
	if to <= a.at {
		return 0
	}
	s := a.steepness(b)
	if math.Abs(s-1) < 1e-9 {
		return a.over * a.at * math.Log(to/a.at)
	}
	return a.over * a.at / (1 - s) * (math.Pow(to/a.at, 1-s) - 1)
}

// mean is the mean time.
func (d Distribution) mean() float64 {
	if len(d.knots) == 0 {
		return 0
	}
	return d.area(d.knots[len(d.knots)-1].at)
}

// portion is a time that stands for a share of all.
type portion struct{ at, share float64 }

// portions are times that stand for the whole: about so many, more where the distribution is known by more quantiles.
func (d Distribution) portions(about int) []portion {
	if len(d.knots) == 0 {
		return []portion{{0, 1}}
	}
	n := max(1, about/len(d.knots))
	var out []portion
	for i := 1; i < len(d.knots); i++ {
		a, b := d.knots[i-1], d.knots[i]
		share := a.over - b.over
		if share <= 0 {
			continue
		}
		if a.at == b.at {
			out = append(out, portion{a.at, share})
			continue
		}
		for k := range n {
			over := a.over - share*(float64(k)+0.5)/float64(n)
			out = append(out, portion{a.at * math.Pow(over/a.over, -1/a.steepness(b)), share / float64(n)})
		}
	}
	last := d.knots[len(d.knots)-1]
	return append(out, portion{last.at, last.over})
}
