package decision

import (
	"math"
	"slices"
	"time"

	"lockbench/reports/selection"
)

// LeaseModel says what becomes of a lease of any length, under assumptions that are to be read with every figure of it:
//
//   - Somebody always waits, and is granted the moment the lease is over: a double hold is not avoided by luck.
//   - A lease begins when the attempt that won was sent. The holder knows of it when the answer is read, and works from
//     then on: Acquire is the time between.
//   - Pauses come as they like (a Poisson process, PerHour for each process), however long the last one is past, and
//     whatever the work and the round trips take. While a process stands still nothing of it goes on: a pause makes the
//     work end later by its whole length.
//   - Between two quantiles of a time the share that takes longer falls as a power of it. No pause is longer than the longest
//     ever seen: of longer ones the model says nothing, and so each probability is a lower bound.
//
// Fixed: nobody moves the end on. A hold is doubled if the answer, the work and all pauses that fall into them take longer
// than the lease.
//
// Renewed: the process of the holder moves the end on, a third of the lease after it was set last and a round trip (taken from
// Acquire). How long the work takes alone never matters. A hold is doubled by a pause that is longer than what is left:
// the lease, less the time since the last renewal was sent (the time since the acquire before the first), less the
// round trip of the renewal that is due when the process goes on. A pause begins anywhere in the hold, so that the time since
// the last renewal is uniform over it. Pauses double a hold each for itself.
//
// Holds into which a pause or a death falls are longer than others, in proportion to their length.
type LeaseModel struct {
	Lease   selection.Lease
	Acquire Distribution // from the sending of the attempt that wins to its return
	Hold    Distribution // of the work, without pauses
	Pause   Distribution
	PerHour float64 // pauses of one process

	// From the end of a lease to the grant of who waits, for the recovery: back-off, hand-off, what the store keeps longer.
	HandOffMean, HandOffMax time.Duration
}

// How finely distributions are taken apart.
const (
	holdPortions    = 400
	acquirePortions = 60
)

// impossible is a probability that is said to be none: what is computed is no more exact.
const impossible = 1e-12

// Point is what a lease of one length comes to.
func (m LeaseModel) Point(ttl time.Duration) selection.LeasePoint {
	t := float64(ttl)
	double := m.double(t)
	if double < impossible {
		double = 0
	}
	return selection.LeasePoint{TTLNS: int64(ttl), Double: round(double, 4), GivenPause: round(m.givenPause(t), 4),
		RecoveryMeanNS: int64(round(m.recovery(t)+float64(m.HandOffMean), 4)), RecoveryMaxNS: int64(ttl + m.HandOffMax)}
}

// each visits all combinations of an acquire and a hold, with the time from the sending to the end of the work.
func (m LeaseModel) each(visit func(acquire, length, share float64)) {
	holds := m.Hold.portions(holdPortions)
	for _, a := range m.Acquire.portions(acquirePortions) {
		for _, h := range holds {
			visit(a.at, a.at+h.at, a.share*h.share)
		}
	}
}

// rate is that of pauses, for each nanosecond.
func (m LeaseModel) rate() float64 { return m.PerHour / float64(time.Hour) }

// double is the probability that a hold is doubled.
func (m LeaseModel) double(ttl float64) (p float64) {
	if m.Lease == selection.Renewed {
		m.each(func(trip, length, share float64) {
			p += share * -math.Expm1(-m.rate()*m.deadly(ttl, ttl, trip, length))
		})
		return p
	}
	for _, a := range m.Acquire.portions(acquirePortions) {
		p += a.share * m.Hold.exceeds(ttl-a.at) // without any pause
	}
	longest := min(ttl, float64(m.Acquire.Longest()+m.Hold.Longest()))
	sums := newSums(m.Pause, ttl, m.rate()*longest)
	m.each(func(_, length, share float64) {
		if length <= ttl {
			p += share * sums.exceed(m.rate()*length, ttl-length)
		}
	})
	return min(1, p)
}

// givenPause is the probability that a hold is doubled into which a pause falls.
func (m LeaseModel) givenPause(ttl float64) float64 {
	var struck, lengths float64
	m.each(func(trip, length, share float64) {
		lengths += share * length
		struck += share * length * m.struck(ttl, ttl, trip, length)
	})
	return struck / lengths
}

// struck is the probability that a pause doubles a hold of a length, where the next is granted so long after the lease was set
// last: when it is over, or some time later.
func (m LeaseModel) struck(ttl, granted, trip, length float64) float64 {
	switch {
	case m.Lease == selection.Renewed:
		return m.deadly(ttl, granted, trip, length) / length
	case length > granted:
		return 1
	}
	return m.Pause.exceeds(granted - length)
}

// deadly is for how much of a hold the beginning of a pause doubles it, on average over the lengths of pauses.
func (m LeaseModel) deadly(ttl, granted, trip, length float64) float64 {
	period := ttl/3 + trip
	upTo := func(since float64) float64 { // the integral over the time since the last renewal
		left := granted - trip
		return m.Pause.area(left) - m.Pause.area(left-since) + max(0, since-max(0, left))
	}
	whole := math.Floor(length / period)
	return whole*upTo(period) + upTo(length-whole*period)
}

// recovery is the mean time from the death of a holder to the end of its lease: it dies anywhere in its hold.
func (m LeaseModel) recovery(ttl float64) float64 {
	upTo := func(since float64) float64 { // the integral of what is left, over the time since the lease was set
		since = min(since, ttl)
		return since * (ttl - since/2)
	}
	var left, lengths float64
	m.each(func(trip, length, share float64) {
		period, whole := ttl/3+trip, 0.0
		if m.Lease == selection.Renewed {
			whole = math.Floor(length / period)
		}
		left += share * (whole*upTo(period) + upTo(length-whole*period))
		lengths += share * length
	})
	return left / lengths
}

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
