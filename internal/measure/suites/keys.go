package suites

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"lockbench/internal/keyed"
	"lockbench/reports/bench"
)

// Known are the names that the caller knows, so that one which is misspelt is found where it stands. What is nil is not
// looked at.
type Known struct {
	Locks, Workloads, Faults []string
	// Lock refuses what a lock of a known name cannot do: a deployment, a parameter.
	Lock func(Lock) error
}

// lock asks the caller of what a lock can do.
func (k Known) lock(n *yaml.Node) error {
	if k.Lock == nil {
		return nil
	}
	var l Lock
	if err := n.Decode(&l); err != nil {
		return err
	}
	return k.Lock(l)
}

func suiteKeys(k Known) []keyed.Key {
	return []keyed.Key{
		{Name: "name", Form: keyed.Name, Required: true, Doc: "tells suites apart"},
		{Name: "doc", Form: keyed.Text, Doc: "what it answers, in a sentence"},
		{Name: "trials", Form: keyed.Whole, Min: 1, Top: 1000, Normally: "10", Doc: "of each subject at each point; an interval takes 6"},
		{Name: "max_trials", Form: keyed.Whole, Min: 1, Top: 1000, Normally: "as `trials`", Doc: "of those whose interval is not narrow by then"},
		{Name: "budget", Form: keyed.Span, From: time.Second, To: 24 * time.Hour, Normally: "none", Doc: "the time for all of it"},
		{Name: "narrow", Form: keyed.Number, Min: 0.001, Max: 1, Normally: "0.05", Doc: "half the width of the 95 % interval of goodput, relative to its median, at which more trials are not needed"},
		{Name: "seed", Form: keyed.Whole, Top: math.MaxUint64, Normally: "0", Doc: "of all randomness, and of the order within each block; 0: drawn when it is run"},
		{Name: "sections", Form: keyed.Mapping, List: true, Required: true, Of: sectionKeys(k), Doc: "what is measured"},
		{Name: "thresholds", Form: keyed.Mapping, List: true, Normally: "none", Of: thresholdKeys(), Doc: "limits that figures are held to by `lockbench gate`"},
	}
}

func sectionKeys(k Known) []keyed.Key {
	return []keyed.Key{
		{Name: "name", Form: keyed.Name, Required: true, Doc: "tells sections apart"},
		{Name: "locks", Form: keyed.Placed, List: true, Values: k.Locks, Normally: "none", Of: lockKeys(k), Check: k.lock, Doc: "a name, `name@deployment`, or a mapping; see below"},
		{Name: "floors", Form: keyed.Choice, List: true, Values: Floors(), Normally: "none", Doc: "what is measured beside them; a section has locks or floors"},
		{Name: "workload", Form: keyed.Choice, Values: k.Workloads, Normally: "contend", Doc: "see `lockbench list workloads`"},
		{Name: "clients", Form: keyed.Whole, List: true, Required: true, Min: 1, Top: 10000, Doc: "at once"},
		{Name: "keys", Form: keyed.Whole, List: true, Min: 1, Top: 10000, Instead: "clients", Normally: "1", Doc: "client c asks for key c modulo this; `clients`: a key for each client"},
		{Name: "hold", Form: keyed.Span, List: true, To: time.Minute, Normally: "0s", Doc: "time inside the critical section"},
		{Name: "wait", Form: keyed.Span, To: time.Hour, Normally: "0s", Doc: "how long a client waits to be granted; 0s: until it is"},
		{Name: "ttl", Form: keyed.Span, From: 400 * time.Millisecond, To: time.Hour, Normally: "10s", Doc: "the lease that is asked for"},
		{Name: "processes", Form: keyed.Whole, Min: 1, Top: 64, Normally: "2", Doc: "that clients are spread over, at most one for each client"},
		{Name: "arrivals", Form: keyed.Choice, Values: arrivals(), Normally: "closed", Doc: "how iterations begin: each as the last is done, or at a rate whatever becomes of them"},
		{Name: "rate", Form: keyed.Number, List: true, Min: 0.001, Max: 1e6, Normally: "none", Doc: "per second, of all clients together; required unless arrivals are closed"},
		{Name: "fault", Form: keyed.Choice, Values: k.Faults, Normally: "none", Doc: "see `lockbench list faults`"},
		{Name: "duration", Form: keyed.Span, From: 10 * time.Millisecond, To: time.Hour, Normally: "500ms", Doc: "of the measured window of each trial, at least"},
		{Name: "rounds", Form: keyed.Whole, Min: 1, Top: 10000, Normally: "none", Doc: "so many turns of every client are to fit into the window: each takes clients / keys x (hold + 0.3 ms)"},
	}
}

func lockKeys(k Known) []keyed.Key {
	return []keyed.Key{
		{Name: "name", Form: keyed.Placed, Required: true, Values: k.Locks, Doc: "the lock, or `name@deployment`"},
		{Name: "as", Form: keyed.Name, Normally: "the name", Doc: "what figures and limits call it; required with `params`"},
		{Name: "params", Form: keyed.Pairs, With: "as", WithWhy: "with params it is a subject of its own, which needs a name", Normally: "none", Doc: "the lock's own parameters"},
	}
}

func thresholdKeys() []keyed.Key {
	return []keyed.Key{
		{Name: "lock", Form: keyed.Placed, Required: true, Doc: "the subject that is held to it"},
		{Name: "section", Form: keyed.Name, Normally: "all", Doc: "where it is"},
		{Name: "clients", Form: keyed.Whole, List: true, Min: 1, Top: 10000, Normally: "all", Doc: "at which numbers of clients"},
		{Name: "metric", Form: keyed.Choice, Required: true, Values: metrics(), Doc: "see the metrics"},
		{Name: "min", Form: keyed.Number, Max: 1e12, Normally: "none", Doc: "not less than this"},
		{Name: "max", Form: keyed.Number, Max: 1e12, Normally: "none", Doc: "not more than this"},
		{Name: "ratio_to", Form: keyed.Placed, List: true, Normally: "none", Doc: "the limit is of the ratio to another subject, or to each of several, in the same run"},
		{Name: "ratio_to_baseline", Form: keyed.Flag, Normally: "false", Doc: "the limit is of the ratio to the same subject in an earlier run"},
	}
}

func arrivals() []string {
	return []string{string(bench.Closed), string(bench.Constant), string(bench.Poisson), string(bench.Burst)}
}

func metrics() []string {
	var names []string
	for _, m := range bench.Metrics() {
		names = append(names, m.Name)
	}
	return names
}
