package requirements

import (
	"time"

	"lockbench/internal/choose/decision"
	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

type reader struct{ *yamlfile.File }

// sense checks what a key cannot tell by itself, once each is right.
func (r reader) sense(n selection.Needs) {
	r.rise("hold", []string{"p50", "p99", "max"}, n.Hold.P50, n.Hold.P99, n.Hold.Max)
	r.rise("pauses", []string{"p50", "p99", "longest"}, n.Pauses.P50, n.Pauses.P99, n.Pauses.Longest)
	if n.Recovery > 0 && n.Recovery < leastRecovery {
		r.Wrong("recovery_within", "recovery_within: %s is less than %s (want 0s for whenever, or %[2]s to 24h)", yamlfile.Spelt(n.Recovery), yamlfile.Spelt(leastRecovery))
	}
	r.fits(n)
	r.weighs(n)
}

// rise holds that of the quantiles that were stated, each is at least the one before.
func (r reader) rise(of string, names []string, times ...time.Duration) {
	before := -1
	for i, name := range names {
		if !r.Stated(of + "." + name) {
			continue
		}
		if before >= 0 && times[i] < times[before] {
			r.Wrong(of+"."+name, "%s: %s is less than %s, %s", name, yamlfile.Spelt(times[i]), names[before], yamlfile.Spelt(times[before]))
		}
		before = i
	}
}

// fits holds that there is time enough for what is said to happen. Half of all times are at least p50, and one in a hundred is at
// least p99: their mean is at least atLeast.
func (r reader) fits(n selection.Needs) {
	if took := n.Rate * atLeast(n.Hold.P50, n.Hold.P99); took > 1 {
		r.Wrong("rate", "rate: %s holds do not fit into a second: one takes %s at p50 and %s at p99, all of them %.3g s at least (want a lower rate, or shorter times in hold)",
			yamlfile.Plainly(n.Rate), yamlfile.Spelt(n.Hold.P50), yamlfile.Spelt(n.Hold.P99), took)
	}
	if took := n.Pauses.PerHour * atLeast(n.Pauses.P50, n.Pauses.P99); took > time.Hour.Seconds() {
		r.Wrong("pauses.per_hour", "per_hour: %s pauses do not fit into an hour: one takes %s at p50 and %s at p99 (want fewer, or shorter ones)",
			yamlfile.Plainly(n.Pauses.PerHour), yamlfile.Spelt(n.Pauses.P50), yamlfile.Spelt(n.Pauses.P99))
	}
}

func atLeast(p50, p99 time.Duration) float64 { return 0.49*p50.Seconds() + 0.01*p99.Seconds() }

func (r reader) weighs(n selection.Needs) {
	for _, c := range decision.Criteria() {
		if n.Weight(c) > 0 {
			return
		}
	}
	r.Wrong("weights", "weights: all of them are 0, so that nothing would be compared (want one above 0)")
}
