package suites

import (
	"math"
	"time"

	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
)

// Known are the names that the caller knows, so that one which is misspelt is found where it stands. What is nil is not
// looked at.
type Known struct {
	Locks, Workloads, Faults []string
	// Lock refuses what a lock of a known name cannot do: a deployment, a parameter.
	Lock func(Lock) error
}

func (k Known) lock(into any) error {
	if k.Lock == nil {
		return nil
	}
	return k.Lock(*into.(*Lock))
}

// Table returns the table of a suite's keys, for its documentation and schema.
func Table() []yamlfile.Key { return suiteKeys(new(Suite), new([]limit), Known{}) }

func suiteKeys(s *Suite, limits *[]limit, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: &s.Name, Form: yamlfile.Name, Required: true, Doc: "tells suites apart"},
		{Name: "doc", Into: &s.Doc, Form: yamlfile.Text, Doc: "what it answers, in a sentence"},
		{Name: "trials", Into: &s.Trials, Form: yamlfile.Whole, Min: 1, Top: 1000, Normally: "10", Doc: "of each subject at each point; an interval takes 6"},
		{Name: "max_trials", Into: &s.MaxTrials, Form: yamlfile.Whole, Min: 1, Top: 1000, Normally: "as `trials`", Doc: "of those whose interval is not narrow by then"},
		{Name: "budget", Into: &s.Budget, Form: yamlfile.Span, From: time.Second, To: 24 * time.Hour, Normally: "none", Doc: "the time for all of it"},
		{Name: "narrow", Into: &s.Narrow, Form: yamlfile.Number, Min: 0.001, Max: 1, Normally: "0.05", Doc: "half the width of the 95 % interval of goodput, relative to its median, at which more trials are not needed"},
		{Name: "seed", Into: &s.Seed, Form: yamlfile.Whole, Top: math.MaxUint64, Normally: "0", Doc: "of all randomness, and of the order within each block; 0: drawn when it is run"},
		{Name: "sections", Into: &s.Sections, Form: yamlfile.Mapping, List: true, Required: true, Of: func(into any) []yamlfile.Key { return sectionKeys(into.(*Section), k) }, Doc: "what is measured"},
		{Name: "thresholds", Into: limits, Form: yamlfile.Mapping, List: true, Normally: "none", Of: func(into any) []yamlfile.Key { return thresholdKeys(into.(*limit)) }, Doc: "limits that figures are held to by `lockbench gate`"},
	}
}

func sectionKeys(s *Section, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: &s.Name, Form: yamlfile.Name, Required: true, Doc: "tells sections apart"},
		{Name: "locks", Into: &s.Locks, Form: yamlfile.Placed, List: true, Values: k.Locks, Normally: "none", Of: func(into any) []yamlfile.Key { return lockKeys(into.(*Lock), k) }, Check: k.lock, Doc: "a name, `name@deployment`, or a mapping; see below"},
		{Name: "floors", Into: &s.Floors, Form: yamlfile.Choice, List: true, Values: Floors(), Normally: "none", Doc: "what is measured beside them; a section has locks or floors"},
		{Name: "workload", Into: &s.Workload, Form: yamlfile.Choice, Values: k.Workloads, Normally: "contend", Doc: "see `lockbench list workloads`"},
		{Name: "clients", Into: &s.Clients, Form: yamlfile.Whole, List: true, Required: true, Min: 1, Top: 10000, Doc: "at once"},
		{Name: "keys", Into: &s.Keys, Form: yamlfile.Whole, List: true, Min: 1, Top: 10000, Instead: "clients", Normally: "1", Doc: "client c asks for key c modulo this; `clients`: a key for each client"},
		{Name: "hold", Into: &s.Hold, Form: yamlfile.Span, List: true, To: time.Minute, Normally: "0s", Doc: "time inside the critical section"},
		{Name: "wait", Into: &s.Wait, Form: yamlfile.Span, To: time.Hour, Normally: "0s", Doc: "how long a client waits to be granted; 0s: until it is"},
		{Name: "ttl", Into: &s.TTL, Form: yamlfile.Span, From: 400 * time.Millisecond, To: time.Hour, Normally: "10s", Doc: "the lease that is asked for"},
		{Name: "processes", Into: &s.Processes, Form: yamlfile.Whole, Min: 1, Top: 64, Normally: "2", Doc: "that clients are spread over, at most one for each client"},
		{Name: "arrivals", Into: &s.Arrivals, Form: yamlfile.Choice, Values: arrivals(), Normally: "closed", Doc: "how iterations begin: each as the last is done, or at a rate whatever becomes of them"},
		{Name: "rate", Into: &s.Rate, Form: yamlfile.Number, List: true, Min: 0.001, Max: 1e6, Normally: "none", Doc: "per second, of all clients together; required unless arrivals are closed"},
		{Name: "fault", Into: &s.Fault, Form: yamlfile.Choice, Values: k.Faults, Normally: "none", Doc: "see `lockbench list faults`"},
		{Name: "duration", Into: &s.Duration, Form: yamlfile.Span, From: 10 * time.Millisecond, To: time.Hour, Normally: "500ms", Doc: "of the measured window of each trial, at least"},
		{Name: "rounds", Into: &s.Rounds, Form: yamlfile.Whole, Min: 1, Top: 10000, Normally: "none", Doc: "so many turns of every client are to fit into the window: each takes clients / keys x (hold + 0.3 ms)"},
	}
}

func lockKeys(l *Lock, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: l, Form: yamlfile.Placed, Required: true, Values: k.Locks, Doc: "the lock, or `name@deployment`"},
		{Name: "as", Into: &l.As, Form: yamlfile.Name, Normally: "the name", Doc: "what figures and limits call it; required with `params`"},
		{Name: "params", Into: &l.Params, Form: yamlfile.Pairs, With: "as", WithWhy: "with params it is a subject of its own, which needs a name", Normally: "none", Doc: "the lock's own parameters"},
	}
}

func thresholdKeys(l *limit) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "lock", Into: &l.Lock, Form: yamlfile.Placed, Required: true, Doc: "the subject that is held to it"},
		{Name: "section", Into: &l.Section, Form: yamlfile.Name, Normally: "all", Doc: "where it is"},
		{Name: "clients", Into: &l.Clients, Form: yamlfile.Whole, List: true, Min: 1, Top: 10000, Normally: "all", Doc: "at which numbers of clients"},
		{Name: "metric", Into: &l.Metric, Form: yamlfile.Choice, Required: true, Values: metrics(), Doc: "see the metrics"},
		{Name: "min", Into: &l.Min, Form: yamlfile.Number, Max: 1e12, Normally: "none", Doc: "not less than this"},
		{Name: "max", Into: &l.Max, Form: yamlfile.Number, Max: 1e12, Normally: "none", Doc: "not more than this"},
		{Name: "ratio_to", Into: &l.To, Form: yamlfile.Placed, List: true, Normally: "none", Doc: "the limit is of the ratio to another subject, or to each of several, in the same run"},
		{Name: "ratio_to_baseline", Into: &l.ToBaseline, Form: yamlfile.Flag, Normally: "false", Doc: "the limit is of the ratio to the same subject in an earlier run"},
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
