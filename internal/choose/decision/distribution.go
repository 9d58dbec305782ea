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

// FromSample is the distribution of what was recorded; the zero one if nothing was.
func FromSample(sample []time.Duration) Distribution {
	if len(sample) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(sample))
	n := len(sorted)
	knots := []knot{{nanos(sorted[0]), 1}}
	for q := range 1000 { // hundredths, and thousandths of what takes longest
		if i := n * q / 1000; (q%10 == 0 || q > 990) && i > 0 && i < n-1 {
			knots = append(knots, knot{nanos(sorted[i]), 1 - float64(q)/1000})
		}
	}
	return Distribution{append(knots, knot{nanos(sorted[n-1]), 1 / float64(n)})}
}

func (d Distribution) scaled(by float64) Distribution {
	out := Distribution{slices.Clone(d.knots)}
	for i := range out.knots {
		out.knots[i].at *= by
	}
	return out
}

// nanos is never zero, which has no logarithm.
func nanos(d time.Duration) float64 { return float64(max(d, 1)) }

// Longest returns the longest time that was ever seen.
func (d Distribution) Longest() time.Duration { return time.Duration(math.Round(d.quantile(0))) }

// exceeds returns the share that takes longer than x.
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

// steepness is the exponent of the power between two knots: infinite between two at the same time.
func (a knot) steepness(b knot) float64 {
	if a.at == b.at {
		return math.Inf(1)
	}
	return math.Log(a.over/b.over) / math.Log(b.at/a.at)
}

// quantile returns the time, between two knots, that a share takes longer than.
func (a knot) quantile(b knot, over float64) float64 {
	return a.at * math.Pow(over/a.over, -1/a.steepness(b))
}

// quantile returns the time in nanoseconds that a share takes longer than.
func (d Distribution) quantile(over float64) (at float64) {
	for i, b := range d.knots {
		if at = b.at; i > 0 && over > b.over {
			return d.knots[i-1].quantile(b, over)
		}
	}
	return at
}

// area is the integral of exceeds from 0 to x: how much of x passes before the thing is over, on average.
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

// portions are times that stand for the whole: about so many, more where the distribution is known by more quantiles.
func (d Distribution) portions(about int) []portion {
	if len(d.knots) == 0 {
		return []portion{{0, 1}}
	}
	var out []portion
	for i := 1; i < len(d.knots); i++ {
		a, b := d.knots[i-1], d.knots[i]
		n, share := max(1, about/len(d.knots)), a.over-b.over
		if a.at == b.at {
			n = 1
		}
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

// met are portions by how often something that happens at any moment meets them: longer ones more often.
func (d Distribution) met(about int) []portion {
	met := d.portions(about)
	var all float64
	for i, p := range met {
		met[i].share *= p.at
		all += met[i].share
	}
	for i := range met {
		met[i].share /= all
	}
	return met
}
