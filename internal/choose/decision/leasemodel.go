package decision

import (
	"math"
	"time"

	"lockbench/reports/selection"
)

// LeaseModel predicts the effect of a lease of any length. A hold overlaps if another client is granted the lock before the
// holder has finished its work.
//
// The model makes these assumptions:
//
//   - Another client always waits, and is granted the lock as soon as the lease expires.
//   - A lease begins when the successful acquire is sent. The work begins when the reply arrives. The field Acquire is the
//     distribution of the time in between.
//   - Pauses begin at random times (a Poisson process with rate PerHour), independent of work and round trips. A pause delays the
//     end of the work by the length of the pause.
//   - No pause is longer than the longest observed pause. Each predicted probability is therefore a lower bound.
//   - A pause or the death of a holder is equally likely at any time of a hold.
//
// Fixed lease: a hold overlaps if the acquire, the work and all pauses together take longer than the lease.
//
// Renewed lease: the holder sends a renewal each time a third of the lease and a round trip have passed. A round trip takes as
// long as the acquire. The lease starts anew when a renewal is sent. A hold overlaps if the first renewal after a pause is
// answered after the lease has expired.
type LeaseModel struct {
	Lease   selection.Lease
	Acquire Distribution // duration of the successful acquire attempt
	Hold    Distribution // duration of the work, without pauses
	Pause   Distribution
	PerHour float64 // number of pauses per hour of one process

	// Mean and maximum time from the expiry of a lease to the next grant. These times include retry intervals and delays of the
	// store.
	HandOffMean, HandOffMax time.Duration
}

// Numbers of discrete durations that approximate the distributions of holds and acquires.
const (
	holdPortions    = 400
	acquirePortions = 60
)

const impossible = 1e-12 // lower overlap probabilities are rounded to 0

// Point returns the prediction for the lease ttl.
func (m LeaseModel) Point(ttl time.Duration) selection.LeasePoint {
	t := float64(ttl)
	overlap := m.overlap(t)
	if overlap < impossible {
		overlap = 0
	}
	return selection.LeasePoint{TTLNS: int64(ttl), Overlap: round(overlap, 4), GivenPause: round(m.givenPause(t), 4),
		RecoveryMeanNS: int64(round(m.recovery(t)+float64(m.HandOffMean), 4)), RecoveryMaxNS: int64(ttl + m.HandOffMax)}
}

// forEachCombination calls visit for every combination of an acquire time and a work time. The argument length is the sum of
// these times. The argument share is the probability of the combination.
func (m LeaseModel) forEachCombination(visit func(acquire, length, share float64)) {
	holds := m.Hold.portions(holdPortions)
	for _, a := range m.Acquire.portions(acquirePortions) {
		for _, h := range holds {
			visit(a.at, a.at+h.at, a.share*h.share)
		}
	}
}

func (m LeaseModel) rate() float64 { return m.PerHour / float64(time.Hour) }

func (m LeaseModel) overlap(ttl float64) (p float64) {
	if m.Lease == selection.Renewed {
		m.forEachCombination(func(trip, length, share float64) {
			p += share * -math.Expm1(-m.rate()*m.deadly(ttl, ttl, trip, length))
		})
		return p
	}
	for _, a := range m.Acquire.portions(acquirePortions) {
		p += a.share * m.Hold.exceeds(ttl-a.at) // add the probability that a hold outlives its lease without any pause
	}
	longest := min(ttl, float64(m.Acquire.Longest()+m.Hold.Longest()))
	sums := newSums(m.Pause, ttl, m.rate()*longest)
	m.forEachCombination(func(_, length, share float64) {
		if length <= ttl {
			p += share * sums.exceed(m.rate()*length, ttl-length)
		}
	})
	return min(1, p)
}

// givenPause returns the probability that a hold overlaps with another client's hold, if a pause begins during the
// hold.
func (m LeaseModel) givenPause(ttl float64) float64 {
	var struck, lengths float64
	m.forEachCombination(func(trip, length, share float64) {
		lengths += share * length
		struck += share * length * m.struck(ttl, ttl, trip, length)
	})
	return struck / lengths
}

// struck returns the probability that another client is granted the lock before a hold with one pause ends. The parameter
// granted is the time from the start of the lease to that grant.
func (m LeaseModel) struck(ttl, granted, trip, length float64) float64 {
	switch {
	case m.Lease == selection.Renewed:
		return m.deadly(ttl, granted, trip, length) / length
	case length > granted:
		return 1
	}
	return m.Pause.exceeds(granted - length)
}

// deadly returns the vulnerable time of a hold with a renewed lease. If a pause starts in the vulnerable time, two clients hold
// the lock at once. The result is a mean, because pauses have random lengths. The parameter length is the duration of the hold.
func (m LeaseModel) deadly(ttl, granted, trip, length float64) float64 {
	period := ttl/3 + trip
	// upTo considers an interval that begins at a renewal. It returns the mean time of this interval in which the start
	// of a pause makes the hold overlap. The parameter is the length of the interval.
	upTo := func(since float64) float64 {
		left := granted - trip
		return m.Pause.area(left) - m.Pause.area(left-since) + max(0, since-max(0, left))
	}
	whole := math.Floor(length / period)
	return whole*upTo(period) + upTo(length-whole*period)
}

// recovery returns the mean time from the death of a holder to the end of the lease. The holder may die at any time of the
// hold.
func (m LeaseModel) recovery(ttl float64) float64 {
	// upTo returns the integral of the remaining lease over an interval, from which the mean recovery time follows. The
	// parameter is the length of the interval. At the start of the interval, the lease has just begun or been renewed.
	upTo := func(since float64) float64 {
		since = min(since, ttl)
		return since * (ttl - since/2)
	}
	var left, lengths float64
	m.forEachCombination(func(trip, length, share float64) {
		period, whole := ttl/3+trip, 0.0
		if m.Lease == selection.Renewed {
			whole = math.Floor(length / period)
		}
		left += share * (whole*upTo(period) + upTo(length-whole*period))
		lengths += share * length
	})
	return left / lengths
}
