package decision

import (
	"fmt"
	"lockbench/reports/selection"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestLeaseClosedForms compares predicted probabilities with exact formulas for constant durations.
func TestLeaseClosedForms(t *testing.T) {
	const hold, pause = time.Second, 400 * time.Millisecond
	perHour := 3600.0 // one pause per second of work
	fixed := LeaseModel{Lease: selection.Fixed, Hold: constantDistribution(hold), Pause: constantDistribution(pause), PerHour: perHour}
	renewed := fixed
	renewed.Lease = selection.Renewed
	for _, c := range []struct {
		name           string
		m              LeaseModel
		ttl            time.Duration
		overlap, given float64
	}{
		{"the work alone is longer", fixed, 900 * time.Millisecond, 1, 1},
		{"one pause is enough", fixed, 1300 * time.Millisecond, 1 - math.Exp(-1), 1},
		{"it takes two", fixed, 1500 * time.Millisecond, 1 - 2*math.Exp(-1), 0},
		{"it takes three", fixed, 2100 * time.Millisecond, 1 - 2.5*math.Exp(-1), 0},
		// A lease of 450 ms is renewed every 150 ms. The lease expires during a pause of 400 ms that begins at least 50 ms after
		// a renewal.
		{"a pause may fit", renewed, 450 * time.Millisecond, 1 - math.Exp(-0.65), 0.65},
		{"none fits", renewed, 390 * time.Millisecond, 1 - math.Exp(-1), 1},
		{"each fits", renewed, 601 * time.Millisecond, 0, 0},
	} {
		p := c.m.Point(c.ttl)
		near(t, c.name+": overlap", p.Overlap, c.overlap, 0.002)
		near(t, c.name+": given a pause", p.GivenPause, c.given, 0.002)
	}
}

// TestRoundTripCounts checks that a lease begins when the acquire request is sent.
func TestRoundTripCounts(t *testing.T) {
	m := LeaseModel{Lease: selection.Fixed, Hold: constantDistribution(time.Second), Pause: constantDistribution(time.Second), Acquire: constantDistribution(100 * time.Millisecond)}
	if p := m.Point(2050 * time.Millisecond); p.GivenPause != 1 {
		t.Errorf("acquire 100 ms, work 1 s and pause 1 s do not outlast 2050 ms: %v", p)
	}
	if p := m.Point(2150 * time.Millisecond); p.GivenPause != 0 {
		t.Errorf("acquire 100 ms, work 1 s and pause 1 s outlast 2150 ms: %v", p)
	}
	m.Lease, m.Hold = selection.Renewed, constantDistribution(time.Hour)
	// The lease of 1500 ms is renewed every 600 ms, and a round trip takes 100 ms. A renewal must be sent within 1400 ms of the
	// previous one. A pause of 1 s that begins more than 400 ms after a renewal is therefore too long.
	if p := m.Point(1500 * time.Millisecond); math.Abs(p.GivenPause-200.0/600) > 0.002 {
		t.Errorf("a pause of 1 s is not deadly in 200 of each 600 ms: %v", p)
	}
}

// TestLongRoundTrip checks a round trip so long that renewals are nearly too late. Even a short pause must make the
// hold overlap.
func TestLongRoundTrip(t *testing.T) {
	m := LeaseModel{Lease: selection.Renewed, Hold: constantDistribution(time.Hour), Pause: constantDistribution(1), Acquire: constantDistribution(600 * time.Millisecond)}
	near(t, "beyond 400 of each 933 ms", m.Point(time.Second).GivenPause, 1-400.0/933.3, 0.001)
}

// TestManyPauses checks a hold with more pauses than the model considers (mostPauses).
func TestManyPauses(t *testing.T) {
	m := LeaseModel{Lease: selection.Fixed, Hold: constantDistribution(time.Second), Pause: constantDistribution(10 * time.Millisecond), PerHour: 200 * 3600}
	near(t, "two hundred pauses of 10 ms", m.Point(1500*time.Millisecond).Overlap, 1, 0.001)
}

// TestLeaseRecovery checks the mean recovery time after the death of a holder. The holder may die at any time of the hold.
func TestLeaseRecovery(t *testing.T) {
	for _, c := range []struct {
		lease     selection.Lease
		hold, ttl time.Duration
		mean      time.Duration
	}{
		{selection.Fixed, time.Second, 3 * time.Second, 2500 * time.Millisecond},
		{selection.Fixed, 2 * time.Second, time.Second, 250 * time.Millisecond}, // half of the holders die after their lease has expired, so their recovery time is 0
		{selection.Renewed, time.Hour, 3 * time.Second, 2500 * time.Millisecond},
		{selection.Renewed, 500 * time.Millisecond, 3 * time.Second, 2750 * time.Millisecond},
		{selection.Renewed, 1500 * time.Millisecond, 3 * time.Second, 2583 * time.Millisecond}, // two thirds of the holders die in the first renewal period
	} {
		m := LeaseModel{Lease: c.lease, Hold: constantDistribution(c.hold), Pause: constantDistribution(1), HandOffMean: 10 * time.Millisecond, HandOffMax: 50 * time.Millisecond}
		p := m.Point(c.ttl)
		near(t, fmt.Sprintf("%s, work of %v, lease of %v", c.lease, c.hold, c.ttl), float64(p.RecoveryMeanNS)/1e6, float64(c.mean)/1e6+10, 2)
		if p.RecoveryMaxNS != int64(c.ttl+50*time.Millisecond) {
			t.Errorf("at most %d", p.RecoveryMaxNS)
		}
	}
}

// TestLeaseMonteCarlo checks that the model agrees with a random simulation of single holds.
func TestLeaseMonteCarlo(t *testing.T) {
	base := LeaseModel{Acquire: FromTimes(times(2*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond)),
		Hold:    FromTimes(times(200*time.Millisecond, time.Second, 2*time.Second)),
		Pause:   FromTimes(times(50*time.Millisecond, 500*time.Millisecond, 2*time.Second)),
		PerHour: 7200}
	for _, lease := range []selection.Lease{selection.Fixed, selection.Renewed} {
		for _, ttl := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
			m := base
			m.Lease = lease
			g := game{m, rand.New(rand.NewPCG(7, uint64(ttl))), float64(ttl)}
			const n = 150_000
			var overlapped, struckOnce, overlappedOnce float64
			for range n {
				if g.play(-1) {
					overlapped++
				}
			}
			for range n { // simulate n holds with one pause each, and weight each hold by its length
				weight, overlap := g.struck()
				struckOnce += weight
				overlappedOnce += weight * overlap
			}
			p := m.Point(ttl)
			name := fmt.Sprintf("%s %v", lease, ttl)
			near(t, name+": overlap", p.Overlap, overlapped/n, 4*math.Sqrt(max(p.Overlap, 1e-4)/n)+0.003*p.Overlap)
			near(t, name+": given a pause", p.GivenPause, overlappedOnce/struckOnce, 0.01)
		}
	}
}

// game simulates holds of random length.
type game struct {
	m   LeaseModel
	r   *rand.Rand
	ttl float64
}

func (g game) draw(d Distribution) float64 { return d.quantile(1 - g.r.Float64()) }

// play simulates one hold and reports whether the hold overlaps the next client's hold. The parameter at is the start
// time of the only pause. If at is negative, the number of pauses and their start times are random.
func (g game) play(at float64) bool {
	trip, hold := g.draw(g.m.Acquire), g.draw(g.m.Hold)
	return g.simulateHold(trip, hold, at)
}

// struck simulates a hold with one pause at a random time. weight is the length of the hold. overlap is 1 if the hold overlaps
// the next client's hold, and otherwise 0.
func (g game) struck() (weight, overlap float64) {
	trip, hold := g.draw(g.m.Acquire), g.draw(g.m.Hold)
	if g.simulateHold(trip, hold, g.r.Float64()*(trip+hold)) {
		overlap = 1
	}
	return trip + hold, overlap
}

// simulateHold simulates a hold and its pauses, and reports whether the hold overlaps the next client's hold. During a pause the
// process neither works nor renews.
func (g game) simulateHold(trip, hold, at float64) bool {
	worked, wall := 0.0, 0.0
	until, renewal := g.ttl, math.Inf(1)
	if g.m.Lease == selection.Renewed {
		renewal = g.ttl/3 + trip
	}
	for {
		next := at - worked // time until the next pause
		switch {
		case at < 0:
			next = g.r.ExpFloat64() / g.m.rate()
		case at <= worked:
			next = math.Inf(1)
		}
		run := min(next, trip+hold-worked)
		for g.m.Lease == selection.Renewed && renewal <= wall+run { // renew the lease, because the renewal is due before the next pause
			until, renewal = renewal+g.ttl, renewal+g.ttl/3+trip
		}
		wall, worked = wall+run, worked+run
		if wall > until {
			return true
		}
		if worked >= trip+hold {
			return false
		}
		wall += g.draw(g.m.Pause)
		if at >= 0 {
			at = 0
		}
		lost := wall
		if g.m.Lease == selection.Renewed {
			lost += trip // a renewal takes one round trip
		}
		if lost > until {
			return true
		}
		if renewal < wall {
			until, renewal = wall+g.ttl, wall+g.ttl/3+trip
		}
	}
}
