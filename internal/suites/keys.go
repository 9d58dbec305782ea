package suites

import (
	"math"
	"time"

	"lockbench/reports/benchmark"
)

// form is what kind of value stands behind a key.
type form int

const (
	aText form = iota
	aName
	aWhole
	aNumber
	aSpan
	aChoice
	aFlag
	aMapping
	aLock
	aPairs
)

// key is one key of a mapping: how its value is checked, and what the schema and the documentation say of it.
type key struct {
	name     string
	form     form
	list     bool // several; one alone may stand without brackets
	required bool
	min, max float64       // of a number
	from, to time.Duration // of a duration
	top      uint64        // of a whole number: at most; the least is min
	values   []string      // to choose from; nil: any clean word
	instead  string        // a word that may stand in the place of a number
	of       []key         // of a mapping
	normally string        // the default, as the documentation has it
	doc      string
}

// Known are the names that the caller knows, so that one which is misspelt is found where it stands. What is nil is not
// looked at.
type Known struct {
	Locks, Workloads, Faults []string
	// Lock refuses what a lock of a known name cannot do: a deployment, a parameter.
	Lock func(Lock) error
}

func suiteKeys(k Known) []key {
	return []key{
		{name: "name", form: aName, required: true, doc: "tells suites apart"},
		{name: "doc", form: aText, doc: "what it answers, in a sentence"},
		{name: "trials", form: aWhole, min: 1, top: 1000, normally: "10", doc: "of each subject at each point; an interval takes 6"},
		{name: "max_trials", form: aWhole, min: 1, top: 1000, normally: "as `trials`", doc: "of those whose interval is not narrow by then"},
		{name: "budget", form: aSpan, from: time.Second, to: 24 * time.Hour, normally: "none", doc: "the time for all of it"},
		{name: "narrow", form: aNumber, min: 0.001, max: 1, normally: "0.05", doc: "half the width of the 95 % interval of goodput, relative to its median, at which more trials are not needed"},
		{name: "seed", form: aWhole, top: math.MaxUint64, normally: "0", doc: "of all randomness, and of the order within each block; 0: drawn when it is run"},
		{name: "sections", form: aMapping, list: true, required: true, of: sectionKeys(k), doc: "what is measured"},
		{name: "thresholds", form: aMapping, list: true, normally: "none", of: thresholdKeys(), doc: "limits that figures are held to by `lockbench gate`"},
	}
}

func sectionKeys(k Known) []key {
	return []key{
		{name: "name", form: aName, required: true, doc: "tells sections apart"},
		{name: "locks", form: aLock, list: true, values: k.Locks, normally: "none", of: lockKeys(k), doc: "a name, `name@deployment`, or a mapping; see below"},
		{name: "floors", form: aChoice, list: true, values: Floors(), normally: "none", doc: "what is measured beside them; a section has locks or floors"},
		{name: "workload", form: aChoice, values: k.Workloads, normally: "contend", doc: "see `lockbench list workloads`"},
		{name: "clients", form: aWhole, list: true, required: true, min: 1, top: 10000, doc: "at once"},
		{name: "keys", form: aWhole, list: true, min: 1, top: 10000, instead: "clients", normally: "1", doc: "client c asks for key c modulo this; `clients`: a key for each client"},
		{name: "hold", form: aSpan, list: true, to: time.Minute, normally: "0s", doc: "time inside the critical section"},
		{name: "wait", form: aSpan, to: time.Hour, normally: "0s", doc: "how long a client waits to be granted; 0s: until it is"},
		{name: "ttl", form: aSpan, from: 400 * time.Millisecond, to: time.Hour, normally: "10s", doc: "the lease that is asked for"},
		{name: "processes", form: aWhole, min: 1, top: 64, normally: "2", doc: "that clients are spread over, at most one for each client"},
		{name: "arrivals", form: aChoice, values: arrivals(), normally: "closed", doc: "how iterations begin: each as the last is done, or at a rate whatever becomes of them"},
		{name: "rate", form: aNumber, list: true, min: 0.001, max: 1e6, normally: "none", doc: "per second, of all clients together; required unless arrivals are closed"},
		{name: "fault", form: aChoice, values: k.Faults, normally: "none", doc: "see `lockbench list faults`"},
		{name: "duration", form: aSpan, from: 10 * time.Millisecond, to: time.Hour, normally: "500ms", doc: "of the measured window of each trial, at least"},
		{name: "rounds", form: aWhole, min: 1, top: 10000, normally: "none", doc: "so many turns of every client are to fit into the window: each takes clients / keys x (hold + 0.3 ms)"},
	}
}

func lockKeys(k Known) []key {
	return []key{
		{name: "name", form: aLock, required: true, values: k.Locks, doc: "the lock, or `name@deployment`"},
		{name: "as", form: aName, normally: "the name", doc: "what figures and limits call it; required with `params`"},
		{name: "params", form: aPairs, normally: "none", doc: "the lock's own parameters"},
	}
}

func thresholdKeys() []key {
	return []key{
		{name: "lock", form: aLock, required: true, doc: "the subject that is held to it"},
		{name: "section", form: aName, normally: "all", doc: "where it is"},
		{name: "clients", form: aWhole, list: true, min: 1, top: 10000, normally: "all", doc: "at which numbers of clients"},
		{name: "metric", form: aChoice, required: true, values: metrics(), doc: "see the metrics"},
		{name: "min", form: aNumber, max: 1e12, normally: "none", doc: "not less than this"},
		{name: "max", form: aNumber, max: 1e12, normally: "none", doc: "not more than this"},
		{name: "ratio_to", form: aLock, list: true, normally: "none", doc: "the limit is of the ratio to another subject, or to each of several, in the same run"},
		{name: "ratio_to_baseline", form: aFlag, normally: "false", doc: "the limit is of the ratio to the same subject in an earlier run"},
	}
}

func arrivals() []string {
	return []string{string(benchmark.Closed), string(benchmark.Constant), string(benchmark.Poisson), string(benchmark.Burst)}
}

func metrics() []string {
	var names []string
	for _, m := range benchmark.Metrics() {
		names = append(names, m.Name)
	}
	return names
}
