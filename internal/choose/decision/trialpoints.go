package decision

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/selection"
)

// TrialPoint is a lease to be tried: processes are paused in their holds, for times drawn from the distribution of pauses,
// while others wait. All times are scaled.
type TrialPoint struct {
	TTL       time.Duration
	Scale     float64 // of all times, but for round trips and those between two tries of a waiter
	Predicted float64 // how often a hold is doubled by its pause

	Hold, Pause       Distribution
	HoldCut, PauseCut time.Duration // what is drawn and longer lasts for so long
}

// Struck is a hold and the pause in it.
type Struck struct {
	Hold  time.Duration // of work, without the pause
	After time.Duration // the grant the pause begins
	Pause time.Duration
}

// Draw draws a hold as a random pause meets it: long ones more often, and anywhere in it.
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

// What a trial can tell and has time for.
const (
	leastTried    = 500 * time.Millisecond // shorter leases are over before a machine has done a thing on time
	longestCycle  = 1500 * time.Millisecond
	longestTried  = 8 * time.Second        // pause, before the process is given up, or work
	shortestPause = 100 * time.Microsecond // shorter ones would have to be made so much longer that the trial said nothing
	periodsTried  = 3                      // of renewals, after which they only repeat
	usualShare    = 0.5                    // of the first point; the second is where it is rarer, the third where it is not to happen
	rarerShare    = 0.15
)

// TrialPoints returns three leases to be tried: one that half of the pauses in holds outlast, one that few do, and the
// advised one, or without one what is needed. shortest is the lock's own. All times are scaled alike to what a trial has time
// for. There is none if pauses are too short to be made. backOff is the longest time between two tries of a polling waiter:
// of the two in a trial, the next grant is so much later, which the curve, of many waiters, ignores.
func (m LeaseModel) TrialPoints(advised, shortest, backOff time.Duration) []TrialPoint {
	if m.Pause.quantile(0.5) < float64(shortestPause) {
		return nil
	}
	if advised == 0 {
		advised = m.Needed()
	}
	scale := 1.0
	for range 8 { // round trips are not scaled, so a lease does not grow as the other times do
		t := m.tried(scale, backOff)
		half := t.outlasted(usualShare)
		most, least := float64(longestCycle)/t.cycle(half), float64(max(leastTried, shortest))/half
		least = min(least, 4) // step by step: beside pauses that are shorter than the times between tries no lease seems short enough
		if most < 1 || least > 1 {
			scale *= max(least, min(most, 1))
		}
	}
	t := m.tried(round(scale, 2), backOff)
	leases := []float64{t.outlasted(usualShare), t.outlasted(rarerShare), float64(advised) * t.scale}
	return lo.Map(leases, func(ttl float64, _ int) TrialPoint { return t.point(max(digestible(ttl), shortest)) })
}

type trialModel struct {
	LeaseModel
	scale float64
	late  []portion // from the end of a lease to the next grant
	trips []portion
	holds []portion // as a pause meets them
}

// tried scales all times but round trips and those between tries.
func (m LeaseModel) tried(scale float64, backOff time.Duration) trialModel {
	t := trialModel{LeaseModel: m, scale: scale, late: untilAsked(float64(backOff)), trips: m.Acquire.portions(10)}
	t.Hold, t.Pause = m.Hold.scaled(scale), m.Pause.scaled(scale)
	t.holds = t.Hold.met(100)
	return t
}

// untilAsked returns the time until the first of two waiters tries, each of which pauses for half to all of a back-off.
func untilAsked(backOff float64) []portion {
	if backOff == 0 {
		return []portion{{0, 1}}
	}
	const n = 10
	return lo.Times(n, func(i int) portion {
		left := math.Sqrt((float64(i) + 0.5) / n) // the share of times to the next try of one waiter that are longer
		at := 0.75 * (1 - left)                   // what is left of a pause that is longer than half
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

// holdCut returns the longest work that is tried: longer work has the same result.
func (t trialModel) holdCut(ttl float64) float64 {
	if t.Lease == selection.Renewed {
		period := ttl/3 + t.Acquire.mean()
		whole := math.Floor(float64(longestCycle) / period)
		return min(max(1, min(whole, periodsTried))*period, float64(longestCycle))
	}
	return t.pauseCut(ttl)
}

func (t trialModel) pauseCut(ttl float64) float64 { return min(2*ttl, float64(longestTried)) }

// cycle returns the mean length of a hold and its pause.
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

// outlasted returns the lease that a share of the pauses outlasts.
func (t trialModel) outlasted(share float64) float64 {
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

// digestible rounds a lease to whole milliseconds, of two or three digits.
func digestible(ns float64) time.Duration {
	unit := time.Millisecond
	for time.Duration(ns) > 1000*unit {
		unit *= 10
	}
	return max(time.Duration(ns).Round(unit), time.Millisecond)
}
