package decision

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/selection"
)

// TrialPoint describes trials that test one lease. In the trials, holders are paused for random times while other clients
// wait. All times except round trips and retry intervals are multiplied by Scale.
type TrialPoint struct {
	TTL       time.Duration
	Scale     float64 // factor by which all times except round trips and retry intervals are multiplied
	Predicted float64 // predicted share of overlapping holds; only holds with a pause are counted

	Hold, Pause       Distribution
	HoldCut, PauseCut time.Duration // upper limits of random holds and pauses
}

// Struck is a hold during which a pause occurs.
type Struck struct {
	Hold  time.Duration // duration of the work, without the pause
	After time.Duration // time from the grant to the start of the pause
	Pause time.Duration
}

// Draw returns a random hold with a pause. The probability of a hold is proportional to its length. The pause begins at a
// random time within the hold.
func (p TrialPoint) Draw(r *rand.Rand) Struck {
	hold, left := p.HoldCut, r.Float64()
	for _, h := range p.Hold.met(holdPortions) {
		if left -= h.share; left < 0 {
			hold = min(time.Duration(h.at), p.HoldCut)
			break
		}
	}
	return Struck{Hold: hold, After: time.Duration(r.Float64() * float64(hold)), Pause: min(time.Duration(p.Pause.quantile(1-r.Float64())), p.PauseCut)}
}

// Limits on the durations in a trial, and two target shares (usualShare and rarerShare). A target share is the
// predicted share of overlaps among holds with a pause. It determines one of the tested leases.
const (
	leastTried    = 500 * time.Millisecond // shortest lease; a shorter one would be distorted by scheduling delays
	longestCycle  = 1500 * time.Millisecond
	longestTried  = 8 * time.Second        // maximum duration of a pause, and of the work in a hold
	shortestPause = 100 * time.Microsecond // shortest median pause to test; shorter pauses would need too large a scale factor
	periodsTried  = 3                      // number of renewal periods in a hold; further periods would give the same result
	usualShare    = 0.5                    // target share for the first tested lease
	rarerShare    = 0.15                   // target share for the second tested lease
)

// TrialPoints returns descriptions of the trials of three leases. It returns nil if the pauses are too short for a test. The
// first lease is chosen so that half of the paused holds overlap the next hold. The second lease is chosen so that few of them
// overlap. The third lease is the parameter advised, or m.Needed() if advised is 0.
//
// No tested lease is shorter than the minimum that the lock supports (parameter shortest). The parameter backOff is the longest
// retry interval of a waiter. A trial has only two waiters, so the next grant can be late by up to backOff. All times except
// round trips and backOff are multiplied by one factor, so that a trial is neither too short nor too long.
func (m LeaseModel) TrialPoints(advised, shortest, backOff time.Duration) []TrialPoint {
	if m.Pause.quantile(0.5) < float64(shortestPause) {
		return nil
	}
	if advised == 0 {
		advised = m.Needed()
	}
	scale := 1.0
	for range 8 { // repeat: round trips are not scaled, so the scale cannot be computed directly
		t := m.tried(scale, backOff)
		half := t.leaseAt(usualShare)
		most, least := float64(longestCycle)/t.cycle(half), float64(max(leastTried, shortest))/half
		least = min(least, 4) // scale by at most 4 in one step: the retry interval is not scaled, so a larger step could overshoot
		if most < 1 || least > 1 {
			scale *= max(least, min(most, 1))
		}
	}
	t := m.tried(round(scale, 2), backOff)
	leases := []float64{t.leaseAt(usualShare), t.leaseAt(rarerShare), float64(advised) * t.scale}
	return lo.Map(leases, func(ttl float64, _ int) TrialPoint { return t.point(max(rounded(ttl), shortest)) })
}

type trialModel struct {
	LeaseModel
	scale float64
	late  []portion // times from the expiry of a lease to the next grant
	trips []portion
	holds []portion // durations of holds, with their shares of the total hold time; a pause hits a longer hold more often
}

// tried converts the lease model m to a model of a trial. It multiplies all times by the parameter scale, except round trips
// and the retry interval.
func (m LeaseModel) tried(scale float64, backOff time.Duration) trialModel {
	t := trialModel{LeaseModel: m, scale: scale, late: untilTried(float64(backOff)), trips: m.Acquire.portions(10)}
	t.Hold, t.Pause = m.Hold.scaled(scale), m.Pause.scaled(scale)
	t.holds = t.Hold.met(100)
	return t
}

// untilTried returns the distribution of the time until one of two waiters tries again. Each waiter sleeps between half and
// all of backOff.
func untilTried(backOff float64) []portion {
	if backOff == 0 {
		return []portion{{0, 1}}
	}
	const n = 10
	return lo.Times(n, func(i int) portion {
		left := math.Sqrt((float64(i) + 0.5) / n) // probability that a given waiter is still sleeping between two attempts
		at := 0.75 * (1 - left)                   // elapsed time as a fraction of the retry interval; the formula is valid only up to 0.5
		if left < 1.0/3 {
			at = 1 - math.Sqrt(0.75*left)
		}
		return portion{at * backOff, 1.0 / n}
	})
}

func (t trialModel) point(ttl time.Duration) TrialPoint {
	return TrialPoint{TTL: ttl, Scale: t.scale, Predicted: round(t.predicted(float64(ttl)), 4), Hold: t.Hold, Pause: t.Pause,
		HoldCut: time.Duration(t.holdCut(float64(ttl))), PauseCut: time.Duration(t.pauseCut(float64(ttl)))}
}

// holdCut returns the maximum duration of the work in a hold of a trial. Longer work would not change the result.
func (t trialModel) holdCut(ttl float64) float64 {
	if t.Lease == selection.Renewed {
		period := ttl/3 + t.Acquire.mean()
		whole := math.Floor(float64(longestCycle) / period)
		return min(max(1, min(whole, periodsTried))*period, float64(longestCycle))
	}
	return t.pauseCut(ttl)
}

func (t trialModel) pauseCut(ttl float64) float64 { return min(2*ttl, float64(longestTried)) }

// cycle returns the mean duration of a hold with a pause. Work and pause are limited by holdCut and pauseCut.
func (t trialModel) cycle(ttl float64) float64 {
	return t.Pause.area(t.pauseCut(ttl)) + lo.SumBy(t.holds, func(h portion) float64 { return h.share * min(h.at, t.holdCut(ttl)) })
}

func (t trialModel) predicted(ttl float64) (p float64) {
	cut := t.holdCut(ttl)
	for _, late := range t.late {
		for _, trip := range t.trips {
			for _, h := range t.holds {
				p += late.share * trip.share * h.share * t.struck(ttl, ttl+late.at, trip.at, trip.at+min(h.at, cut))
			}
		}
	}
	return p
}

// leaseAt returns the lease for which the given share of holds is predicted to overlap with another client's hold. Only holds
// with a pause are counted.
func (t trialModel) leaseAt(share float64) float64 {
	least, most := float64(time.Microsecond), float64(24*time.Hour)
	for most/least > 1.001 {
		ttl := math.Sqrt(least * most)
		if t.predicted(ttl) > share {
			least = ttl
		} else {
			most = ttl
		}
	}
	return most
}

// rounded returns a lease in whole milliseconds, rounded to two or three digits.
func rounded(ns float64) time.Duration {
	unit := time.Millisecond
	for time.Duration(ns) > 1000*unit {
		unit *= 10
	}
	return max(time.Duration(ns).Round(unit), time.Millisecond)
}
