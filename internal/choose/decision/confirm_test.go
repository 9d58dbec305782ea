package decision

import (
	"lockbench/reports/stats"
	"math"
	"testing"
	"time"
)

// TestShareOf compares confidence intervals of a share with published tables and with an exact formula.
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
		low, high := stats.BinomialInterval(c.k, c.n)
		near(t, "low", low, c.low, 1e-4)
		near(t, "high", high, c.high, 1e-4)
	}
}

// TestConfirmed checks that Confirm compares the predicted and the observed share of overlapping holds. They must agree if the
// predicted share lies in the confidence interval of the observed share.
func TestConfirmed(t *testing.T) {
	p := TrialPoint{TTL: time.Second, Scale: 0.1, Predicted: 0.15}
	for _, c := range []struct {
		seen   Paused
		agrees bool
	}{{Paused{60, 9}, true}, {Paused{60, 30}, false}, {Paused{60, 0}, false}, {Paused{0, 0}, false}} {
		got := p.Confirm(c.seen, "R1", nil)
		if got.Agrees != c.agrees || got.Pauses != c.seen.Holds || got.Overlaps != c.seen.Overlapped || got.InUse() != 1e10 {
			t.Errorf("%+v: %+v", c.seen, got)
		}
	}
}
