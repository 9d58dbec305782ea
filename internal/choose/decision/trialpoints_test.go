package decision

import (
	"lockbench/reports/selection"
	"math/rand/v2"
	"testing"
	"time"
)

// TestTrialPoints checks that the leases, holds and pauses of trials are within their limits. Trials use scaled times. The
// predictions for scaled times must agree with the predictions for the original times.
func TestTrialPoints(t *testing.T) {
	for name, change := range map[string]func(*LeaseInputs){
		"usual":                   func(*LeaseInputs) {},
		"long work, short pauses": func(in *LeaseInputs) { in.Needs.Hold = times(time.Minute, 5*time.Minute, 10*time.Minute) },
		"short work, long pauses": func(in *LeaseInputs) {
			in.Needs.Pauses = selection.Pauses{P50: 10 * time.Second, P99: 30 * time.Second, Longest: time.Minute}
		},
		"no lease fits":           func(in *LeaseInputs) { in.Needs.Recovery = time.Second },
		"the lock's own shortest": func(in *LeaseInputs) { in.Shortest = 2 * time.Second },
	} {
		for _, l := range []selection.Lease{selection.Fixed, selection.Renewed} {
			in := leaseInputs(l)
			in.Acquire.Sample = []time.Duration{time.Microsecond} // a round trip this short hardly matters, because round trips are not scaled
			change(&in)
			m := in.Model()
			points := m.TrialPoints(time.Duration(AdviseLease(in).AdvisedNS), in.Shortest, 0)
			if len(points) != 3 {
				t.Fatalf("%s: %d points", name, len(points))
			}
			half, rarer, last := points[0], points[1], points[2]
			near(t, name+": the first", half.Predicted, 0.5, 0.05)
			near(t, name+": the second", rarer.Predicted, 0.15, 0.05)
			near(t, name+": the last", last.Predicted, 0, 0)
			for _, p := range points {
				near(t, name+": the curve", p.Predicted, m.Point(time.Duration(float64(p.TTL)/p.Scale)).GivenPause, 0.03)
				if p.TTL < leastTried*9/10 || p.TTL < in.Shortest || p.Scale != half.Scale || p.PauseCut > longestTried || p.HoldCut > longestTried {
					t.Errorf("%s, %s: %v %v %v %v", name, l, p.TTL, p.Scale, p.HoldCut, p.PauseCut)
				}
			}
			cycle := m.tried(half.Scale, 0).cycle(float64(half.TTL))
			if half.Scale < 1 && cycle < 0.8*float64(longestCycle) {
				t.Errorf("%s, %s: scaled too much: a hold and its pause take %v", name, l, time.Duration(cycle))
			}
			if cycle > 2.2*float64(max(longestCycle, in.Shortest)) {
				t.Errorf("%s, %s: a hold and its pause take %v", name, l, time.Duration(cycle))
			}
		}
	}
}

// TestScaleBesideBackOff checks trials whose pauses are shorter than the retry interval of waiters. The retry interval
// is not scaled. All other times must be scaled until the tested lease is close to the minimum for a trial.
func TestScaleBesideBackOff(t *testing.T) {
	in := leaseInputs(selection.Fixed)
	in.Acquire.Sample = []time.Duration{400 * time.Microsecond}
	in.Needs.Hold = times(5*time.Millisecond, 40*time.Millisecond, 200*time.Millisecond)
	in.Needs.Pauses = selection.Pauses{P50: 8 * time.Millisecond, P99: 60 * time.Millisecond, Longest: 400 * time.Millisecond}
	if p := in.Model().TrialPoints(time.Second, 0, 50*time.Millisecond)[0]; p.TTL < leastTried*9/10 || p.TTL > 2*leastTried {
		t.Errorf("lease %v, scale %v", p.TTL, p.Scale)
	}
}

// TestDraw checks the random holds that TrialPoint.Draw returns. The share of holds that outlive their lease must match the
// prediction.
func TestDraw(t *testing.T) {
	for _, l := range []selection.Lease{selection.Fixed, selection.Renewed} {
		in := leaseInputs(l)
		in.Acquire.Sample = []time.Duration{time.Microsecond}
		r := rand.New(rand.NewPCG(5, 5))
		for _, p := range in.Model().TrialPoints(3*time.Second, 0, 0) {
			const n = 4000
			overlapped := 0.0
			for range n {
				s := p.Draw(r)
				if s.After < 0 || s.After > s.Hold || s.Hold > p.HoldCut || s.Pause > p.PauseCut {
					t.Fatalf("%+v", s)
				}
				over := s.Hold + s.Pause
				if l == selection.Renewed {
					over = s.Pause + s.After%(p.TTL/3)
				}
				if over > p.TTL {
					overlapped += 1.0 / n
				}
			}
			near(t, string(l)+" "+p.TTL.String(), overlapped, p.Predicted, 0.035)
		}
	}
}

// TestUntilTried checks that the distribution returned by untilTried agrees with a random simulation.
func TestUntilTried(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	next := func() float64 { // simulates one polling waiter: returns the time from a random moment to its next attempt
		at := -1000 * r.Float64()
		for at < 0 {
			at += 25 + 25*r.Float64()
		}
		return at
	}
	const n = 20_000
	var mean, over20 float64
	for range n {
		late := min(next(), next())
		mean += late / n
		if late > 20 {
			over20 += 1.0 / n
		}
	}
	var mean2, over20b float64
	for _, p := range untilTried(50) {
		mean2 += p.at * p.share
		if p.at > 20 {
			over20b += p.share
		}
	}
	near(t, "mean", mean2, mean, 0.4)
	near(t, "share over 20", over20b, over20, 0.03)
	for _, p := range untilTried(0) {
		if p.at != 0 {
			t.Errorf("without a back-off a waiter tries %v late", p.at)
		}
	}
}

// TestBackOff checks that fewer holds overlap if waiters wait between attempts.
func TestBackOff(t *testing.T) {
	for _, l := range []selection.Lease{selection.Fixed, selection.Renewed} {
		m := leaseInputs(l).Model()
		at, later := m.tried(10, 0).predicted(900e6), m.tried(10, 50*time.Millisecond).predicted(900e6)
		if later >= at || later < at*0.8 {
			t.Errorf("%s: %v with a back-off, %v without", l, later, at)
		}
	}
}

// TestNothingToTry checks that requirements without pauses give no leases to test.
func TestNothingToTry(t *testing.T) {
	in := leaseInputs(selection.Fixed)
	in.Needs.Pauses = selection.Pauses{}
	if points := in.Model().TrialPoints(0, 0, 0); len(points) != 0 {
		t.Errorf("%+v", points)
	}
}
