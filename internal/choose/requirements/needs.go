// Package requirements reads the requirements of a team from a YAML file (Parse) or from answers in a terminal (Ask), and
// returns selection.Needs. A value that was not stated gets a default and is listed in Needs.Assumed.
package requirements

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/internal/choose/decision"
	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

// Known holds the valid names of stores and languages. A nil list accepts every name.
type Known struct {
	Stores    []string // names of stores, each as store or store@deployment
	Languages []string
}

// Parse reads a requirements file. The error lists each mistake with its line and column.
func Parse(file string, whole []byte, known Known) (selection.Needs, error) {
	var n selection.Needs
	f, err := yamlfile.Read(file, "requirements file", whole, keys(&n, known))
	if err != nil {
		return selection.Needs{}, err
	}
	r := reader{f}
	r.fill(&n)
	for _, l := range leaves("", Table()) {
		if !l.Required && l.path != "guards" && !f.Stated(l.path) { // the key "guards" is only a description and does not influence the decision
			n.Assumed = append(n.Assumed, l.path)
		}
	}
	r.checkTogether(n)
	if err := f.Err(); err != nil {
		return selection.Needs{}, err
	}
	return n, nil
}

// leaf is a key of the requirements file that contains no other keys. Its path includes the parent keys, for example hold.p99.
type leaf struct {
	yamlfile.Key
	path string
}

func leaves(prefix string, keys []yamlfile.Key) []leaf {
	return lo.FlatMap(keys, func(k yamlfile.Key, _ int) []leaf {
		if k.Form == yamlfile.Mapping {
			return leaves(prefix+k.Name+".", k.Of(k.Into))
		}
		return []leaf{{k, prefix + k.Name}}
	})
}

// keyAt returns the key at a path, which must exist.
func keyAt(all []yamlfile.Key, path string) yamlfile.Key {
	name, rest, more := strings.Cut(path, ".")
	k := all[slices.IndexFunc(all, func(k yamlfile.Key) bool { return k.Name == name })]
	if more {
		return keyAt(k.Of(k.Into), rest)
	}
	return k
}

// fill sets the defaults. The default of a quantile depends on the quantiles that were stated. For example, p99 cannot
// be 50 ms if the stated p50 is several minutes.
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

// quantiles estimates each quantile that the user did not state. It starts from the nearest lower stated quantile, or else from
// the nearest higher one. It assumes that the two quantiles have the same ratio as their default values.
func (r reader) quantiles(most time.Duration, all ...quantile) {
	stated := func(q quantile) bool { return r.Stated(q.path) }
	for i, q := range all {
		if stated(q) {
			continue
		}
		above, someAbove := lo.Find(all[i:], stated)
		*q.at = q.usual
		if below, _, some := lo.FindLastIndexOf(all[:i], stated); some {
			*q.at = *below.at * (q.usual / below.usual)
		} else if someAbove {
			*q.at = *above.at / (above.usual / q.usual)
		}
		*q.at = min(max(*q.at, shortest), most)
		if someAbove {
			*q.at = min(*q.at, *above.at)
		}
	}
}

type reader struct{ *yamlfile.File }

// checkTogether reports values that are not consistent with each other.
func (r reader) checkTogether(n selection.Needs) {
	r.rise("hold", []string{"p50", "p99", "max"}, n.Hold.P50, n.Hold.P99, n.Hold.Max)
	r.rise("pauses", []string{"p50", "p99", "longest"}, n.Pauses.P50, n.Pauses.P99, n.Pauses.Longest)
	if n.Recovery > 0 && n.Recovery < leastRecovery {
		r.Wrong("recovery_within", "recovery_within: %s is less than %s (want 0s for no limit, or %[2]s to 24h)", yamlfile.Spelt(n.Recovery), yamlfile.Spelt(leastRecovery))
	}
	r.fits(n)
	r.weighs(n)
}

// rise reports an error if the stated quantiles are not in ascending order.
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

// fits reports an error if the stated rate of holds or pauses is impossible. All holds of one second must last at most a second
// in total. All pauses of one hour must last at most an hour in total.
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

// atLeast returns a lower bound of the mean duration in seconds: half of all durations are at least p50, and 1 % are at least
// p99.
func atLeast(p50, p99 time.Duration) float64 { return 0.49*p50.Seconds() + 0.01*p99.Seconds() }

func (r reader) weighs(n selection.Needs) {
	if !lo.ContainsBy(decision.Criteria(), func(c string) bool { return n.Weight(c) > 0 }) {
		r.Wrong("weights", "weights: all are 0 (want at least one above 0)")
	}
}
