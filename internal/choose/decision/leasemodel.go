package decision

import (
	"math"
	"time"

	"lockbench/reports/selection"
)

// LeaseModel predicts what a lease of any length leads to, under these assumptions:
//
//   - A client always waits, and is granted the lock the moment the lease expires.
//   - A lease begins when the attempt that won was sent. The holder works from when the answer is read, Acquire later.
//   - Pauses are a Poisson process, PerHour for each process, independent of work and round trips. Nothing goes on in a paused
//     process: the work ends later by the length of the pause.
//   - Between two quantiles of a time the share that takes longer falls as a power of it. No pause is longer than the longest
//     ever seen, and so each probability is a lower bound.
//
// Fixed: a hold is doubled if the answer, the work and all pauses in them take longer than the lease.
//
// Renewed: the holder's process renews the lease a third of it, and a round trip (from Acquire), after it was set. A hold is
// doubled by a single pause that is longer than the lease, less the time since the last renewal (or the acquire) was sent, less
// the round trip of the renewal that is due. A pause begins anywhere in the hold, so the time since the last renewal is uniform.
//
// Holds into which a pause or a death falls are longer than others, in proportion to their length.
type LeaseModel struct {
	Lease   selection.Lease
	Acquire Distribution // from the sending of the attempt that wins to its return
	Hold    Distribution // of the work, without pauses
	Pause   Distribution
	PerHour float64 // pauses of one process

	// From the end of a lease to the next grant: back-off, hand-off, what the store keeps longer.
	HandOffMean, HandOffMax time.Duration
}

// How finely distributions are taken apart.
const (
	holdPortions    = 400
	acquirePortions = 60
)

const impossible = 1e-12 // a probability that is taken as 0: no figure is more exact

// Point returns what a lease of one length comes to.
func (m LeaseModel) Point(ttl time.Duration) selection.LeasePoint {
	t := float64(ttl)
	double := m.double(t)
	if double < impossible {
		double = 0
	}
	return selection.LeasePoint{TTLNS: int64(ttl), Double: round(double, 4), GivenPause: round(m.givenPause(t), 4),
		RecoveryMeanNS: int64(round(m.recovery(t)+float64(m.HandOffMean), 4)), RecoveryMaxNS: int64(ttl + m.HandOffMax)}
}

// each visits all combinations of an acquire and a hold. length is from the sending to the end of the work.
func (m LeaseModel) each(visit func(acquire, length, share float64)) {
	holds := m.Hold.portions(holdPortions)
	for _, a := range m.Acquire.portions(acquirePortions) {
		for _, h := range holds {
			visit(a.at, a.at+h.at, a.share*h.share)
		}
	}
}

func (m LeaseModel) rate() float64 { return m.PerHour / float64(time.Hour) }

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

// givenPause returns the probability that a hold into which a pause falls is doubled.
func (m LeaseModel) givenPause(ttl float64) float64 {
	var struck, lengths float64
	m.each(func(trip, length, share float64) {
		lengths += share * length
		struck += share * length * m.struck(ttl, ttl, trip, length)
	})
	return struck / lengths
}

// struck returns the probability that a pause doubles a hold, if the next is granted so long after the lease was set.
func (m LeaseModel) struck(ttl, granted, trip, length float64) float64 {
	switch {
	case m.Lease == selection.Renewed:
		return m.deadly(ttl, granted, trip, length) / length
	case length > granted:
		return 1
	}
	return m.Pause.exceeds(granted - length)
}

// deadly returns in how much of a hold a pause that begins there doubles it, on average over pauses.
func (m LeaseModel) deadly(ttl, granted, trip, length float64) float64 {
	period := ttl/3 + trip
	upTo := func(since float64) float64 { // the integral over the time since the last renewal
		left := granted - trip
		return m.Pause.area(left) - m.Pause.area(left-since) + max(0, since-max(0, left))
	}
	whole := math.Floor(length / period)
	return whole*upTo(period) + upTo(length-whole*period)
}

// recovery returns the mean time from the death of a holder, anywhere in its hold, to the end of its lease.
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
