package advice

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestShareOf: intervals that can be looked up or written down.
func TestShareOf(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{5, 10, 0.1871, 0.8129},
		{1, 20, 0.001265, 0.2487},
		{0, 60, 0, 1 - math.Pow(0.025, 1.0/60)},
		{60, 60, math.Pow(0.025, 1.0/60), 1},
		{0, 0, 0, 1},
	} {
		low, high := shareOf(c.k, c.n)
		near(t, "low", low, c.low, 1e-4)
		near(t, "high", high, c.high, 1e-4)
	}
}

// TestTrialPoints: what is tried can be told apart by a machine, and is waited for by a person.
func TestTrialPoints(t *testing.T) {
	for name, change := range map[string]func(*LeaseInputs){
		"usual":                   func(*LeaseInputs) {},
		"long work, short pauses": func(in *LeaseInputs) { in.Needs.Hold = Times{time.Minute, time.Hour, 2 * time.Hour} },
		"short work, long pauses": func(in *LeaseInputs) {
			in.Needs.Pauses = Pauses{P50: 10 * time.Second, P99: 30 * time.Second, Longest: time.Minute}
		},
		"none that does":          func(in *LeaseInputs) { in.Needs.Recovery = time.Second },
		"the lock's own shortest": func(in *LeaseInputs) { in.Shortest = 2 * time.Second },
		"pauses that are the same": func(in *LeaseInputs) {
			in.Needs.Pauses.P99, in.Needs.Pauses.Longest = in.Needs.Pauses.P50, in.Needs.Pauses.P50
		},
	} {
		for _, l := range []Lease{Fixed, Renewed} {
			in := leaseInputs(l)
			change(&in)
			m := in.Model()
			points := m.TrialPoints(time.Duration(AdviseLease(in).AdvisedNS), in.Shortest, 50*time.Millisecond)
			if len(points) != 3 {
				t.Fatalf("%s: %d points", name, len(points))
			}
			half, rarer, last := points[0], points[1], points[2]
			if last.Predicted != 0 {
				t.Errorf("%s, %s: with the advised lease %v is predicted", name, l, last.Predicted)
			}
			if name != "pauses that are the same" && (math.Abs(half.Predicted-0.5) > 0.05 || math.Abs(rarer.Predicted-0.15) > 0.05) {
				t.Errorf("%s, %s: %v and %v are predicted, want about 0.5 and 0.15", name, l, half.Predicted, rarer.Predicted)
			}
			for _, p := range points {
				if p.TTL < leastTried*9/10 || p.TTL < in.Shortest*9/10 || p.Scale != half.Scale || p.Hold != half.Hold || p.Cut > longestPause {
					t.Errorf("%s, %s: %v %v %v %v", name, l, p.TTL, p.Hold, p.Scale, p.Cut)
				}
			}
			if cycle := half.Hold + time.Duration(half.Pause.mean()); cycle > 4*max(leastTried, in.Shortest) && cycle > 2*longestCycle {
				t.Errorf("%s, %s: a hold and its pause take %v", name, l, cycle)
			}
			if half.Hold.Seconds() > half.Scale*in.Needs.Hold.P50.Seconds()+0.001 {
				t.Errorf("%s, %s: it works for %v, %v times what is needed", name, l, half.Hold, half.Scale)
			}
		}
	}
}

// TestUntilAsked: how late the first of two waiters asks, against what is drawn.
func TestUntilAsked(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	next := func() float64 { // the time from any moment to the next try
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
	for _, p := range untilAsked(50) {
		mean2 += p.at * p.share
		if p.at > 20 {
			over20b += p.share
		}
	}
	near(t, "mean", mean2, mean, 0.2)
	near(t, "share over 20", over20b, over20, 0.03)
	for _, p := range untilAsked(0) {
		if p.at != 0 {
			t.Errorf("whoever is told asks at once, and not %v later", p.at)
		}
	}
}

// TestLateWaitersAreFewer: where waiters ask now and then, fewer holds are doubled by the same pauses.
func TestLateWaitersAreFewer(t *testing.T) {
	for _, l := range []Lease{Fixed, Renewed} {
		m := leaseInputs(l).Model()
		at, later := m.tried(50e6, 10, 0).givenPause(600e6), m.tried(50e6, 10, 50*time.Millisecond).givenPause(600e6)
		if later >= at || later < at*0.8 {
			t.Errorf("%s: %v, and %v where waiters ask at once", l, later, at)
		}
	}
}

// TestNothingToTry: where nothing stands still there is no trial of it.
func TestNothingToTry(t *testing.T) {
	in := leaseInputs(Fixed)
	in.Needs.Pauses = Pauses{}
	if points := in.Model().TrialPoints(0, 0, 0); len(points) != 0 {
		t.Errorf("%+v", points)
	}
}

// TestConfirmed: what is predicted agrees if it lies in the interval of what was seen.
func TestConfirmed(t *testing.T) {
	p := TrialPoint{TTL: time.Second, Hold: 300 * time.Millisecond, Scale: 0.1, Predicted: 0.15}
	for _, c := range []struct {
		seen   Paused
		agrees bool
		says   []string
	}{
		{Paused{60, 9}, true, []string{"With a lease of 1 s and work of 300 ms", "60 holds, and 9 of those", ": 15 %", "Predicted was 15 %, which agrees", "0.1 times"}},
		{Paused{60, 30}, false, []string{"does not agree"}},
		{Paused{60, 0}, false, []string{"from 0 to 6 %"}},
		{Paused{0, 0}, false, []string{"nothing is known"}},
	} {
		got := p.confirmed(c.seen, "R1", nil)
		if got.Agrees != c.agrees || got.Pauses != c.seen.Holds || got.Doubles != c.seen.Doubled {
			t.Errorf("%+v: %+v", c.seen, got)
		}
		for _, s := range c.says {
			if !strings.Contains(got.Text, s) {
				t.Errorf("%q does not say %q", got.Text, s)
			}
		}
	}
	if _, err := p.ConfirmedBy(t.TempDir(), "R1", []string{"none.jsonl"}); err == nil {
		t.Error("a history that is not there confirms nothing")
	}
}
