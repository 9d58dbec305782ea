package requirements

import (
	"math"
	"time"

	"lockbench/internal/choose/decision"
	"lockbench/reports/selection"
)

// fill has the default of each need that was not stated. A default follows what was stated beside it, so that it makes
// sense there: who holds a lock for minutes does not mean 50 ms at p99.
func (r reader) fill(n *selection.Needs) {
	normally(r, "checks_fence", &n.Fence, selection.NoCheck)
	normally(r, "recovery_within", &n.Recovery, 30*time.Second)
	normally(r, "clients", &n.Clients, 16)
	normally(r, "stores", &n.Stores, []string{"redis"})
	if n.TwoHold == selection.Corruption {
		normally(r, "survives_store", &n.Survives, []selection.Trouble{selection.Restart})
	}
	r.quantiles(longestHold, quantile{"hold.p50", &n.Hold.P50, 5 * time.Millisecond}, quantile{"hold.p99", &n.Hold.P99, 50 * time.Millisecond},
		quantile{"hold.max", &n.Hold.Max, 500 * time.Millisecond})
	r.quantiles(longestPause, quantile{"pauses.p50", &n.Pauses.P50, 10 * time.Millisecond}, quantile{"pauses.p99", &n.Pauses.P99, 100 * time.Millisecond},
		quantile{"pauses.longest", &n.Pauses.Longest, 500 * time.Millisecond})
	normally(r, "pauses.per_hour", &n.Pauses.PerHour, min(60, math.Floor(time.Hour.Seconds()/atLeast(n.Pauses.P50, n.Pauses.P99))))
	if n.Weights == nil {
		n.Weights = map[string]float64{}
	}
	for _, c := range decision.Criteria() {
		n.Weights[c] = n.Weight(c)
	}
}

func normally[T any](r reader, path string, at *T, to T) {
	if !r.Stated(path) {
		*at = to
	}
}

type quantile struct {
	path  string
	at    *time.Duration
	usual time.Duration
}

// quantiles guesses those that were not stated by the nearest that was, the one below before the one above, in the usual
// proportion. They rise whatever was stated, and so a guess is never what is wrong in a file.
func (r reader) quantiles(most time.Duration, all ...quantile) {
	var known []int
	for i, q := range all {
		if r.Stated(q.path) {
			known = append(known, i)
		}
	}
	for i, q := range all {
		if r.Stated(q.path) {
			continue
		}
		below, above := -1, -1
		for _, j := range known {
			if j < i {
				below = j
			} else if above < 0 {
				above = j
			}
		}
		*q.at = q.usual
		switch {
		case below >= 0:
			*q.at = *all[below].at * (q.usual / all[below].usual)
		case above >= 0:
			*q.at = *all[above].at / (all[above].usual / q.usual)
		}
		*q.at = min(max(*q.at, shortest), most)
		if above >= 0 {
			*q.at = min(*q.at, *all[above].at)
		}
	}
}
