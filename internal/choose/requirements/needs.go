// Package requirements reads what a team needs of a lock: from YAML, or by questions in a terminal. What nobody stated gets a default,
// and is listed as assumed, so that a recommendation can say on which of its own guesses it rests.
package requirements

import (
	"math"
	"slices"
	"strings"
	"time"

	"lockbench/internal/choose/decision"
	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

// Known are the names that the caller knows, so that one which is misspelt is found where it stands. What is nil is not
// looked at.
type Known struct {
	Stores    []string // store, or store@deployment
	Languages []string
}

// Parse reads needs. The error has a line for each mistake, with the place where it stands.
func Parse(file string, whole []byte, known Known) (selection.Needs, error) {
	var n selection.Needs
	f, err := yamlfile.Read(file, "list of needs", whole, keys(&n, known))
	if err != nil {
		return selection.Needs{}, err
	}
	if err := complete(f, &n); err != nil {
		return selection.Needs{}, err
	}
	return n, nil
}

// complete adds the defaults to what was read, as far as it makes sense together.
func complete(f *yamlfile.File, n *selection.Needs) error {
	r := reader{f}
	r.fill(n)
	for _, l := range leaves("", Table()) {
		if !l.Required && l.path != "guards" && !f.Stated(l.path) { // nothing follows from what is said for people
			n.Assumed = append(n.Assumed, l.path)
		}
	}
	r.sense(*n)
	return f.Err()
}

// leaf is a key with a value of its own, and the path that leads to it: hold.p99.
type leaf struct {
	yamlfile.Key
	path string
}

func leaves(prefix string, keys []yamlfile.Key) []leaf {
	var all []leaf
	for _, k := range keys {
		if k.Form == yamlfile.Mapping {
			all = append(all, leaves(prefix+k.Name+".", k.Of(k.Into))...)
			continue
		}
		all = append(all, leaf{k, prefix + k.Name})
	}
	return all
}

// keyAt returns the key among all that a path leads to. Paths stand in the program, and a test asks for each.
func keyAt(all []yamlfile.Key, path string) yamlfile.Key {
	name, rest, more := strings.Cut(path, ".")
	k := all[slices.IndexFunc(all, func(k yamlfile.Key) bool { return k.Name == name })]
	if more {
		return keyAt(k.Of(k.Into), rest)
	}
	return k
}

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
