package suites

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
)

// Parse reads a suite. The error has a line for each mistake, with the place where it stands.
func Parse(file string, whole []byte, known Known) (*Suite, error) {
	var s Suite
	var limits []limit
	f, err := yamlfile.Read(file, "suite", whole, suiteKeys(&s, &limits, known))
	if err != nil {
		return nil, err
	}
	s = s.Filled()
	reader{f}.sense(&s, limits)
	if err := f.Err(); err != nil {
		return nil, err
	}
	s.Thresholds = thresholds(limits)
	return &s, nil
}

// Write returns a file from which Parse reads the suite.
func Write(s Suite) []byte {
	var limits []limit
	for _, t := range s.Thresholds {
		l := limit{Lock: t.Subject, Section: t.Section, Metric: t.Metric, Min: t.Min, Max: t.Max, ToBaseline: t.ToBaseline}
		if t.Clients > 0 {
			l.Clients = []int{t.Clients}
		}
		if t.To != "" {
			l.To = []string{t.To}
		}
		limits = append(limits, l)
	}
	return yamlfile.Write(suiteKeys(&s, &limits, Known{}))
}

// limit is a threshold as it stands in a file: several at once, where it is of several numbers of clients or subjects.
type limit struct {
	Lock       string
	Section    string
	Clients    []int
	Metric     string
	Min, Max   *float64
	To         []string
	ToBaseline bool
}

func thresholds(limits []limit) []bench.Threshold {
	var all []bench.Threshold
	for _, l := range limits {
		for _, clients := range orZero(l.Clients) {
			for _, to := range orZero(l.To) {
				all = append(all, bench.Threshold{Subject: l.Lock, Section: l.Section, Clients: clients, Metric: l.Metric,
					Min: l.Min, Max: l.Max, To: to, ToBaseline: l.ToBaseline})
			}
		}
	}
	return all
}

// orZero is the list, or where it is empty one zero, which is read as any.
func orZero[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

// UnmarshalText reads name or name@deployment.
func (l *Lock) UnmarshalText(text []byte) error {
	l.Name, l.Deployment, _ = strings.Cut(string(text), "@")
	return nil
}

// MarshalText writes name or name@deployment.
func (l *Lock) MarshalText() ([]byte, error) { return []byte(l.place()), nil }

// each is the word for a key for each client.
const each = "clients"

// UnmarshalText reads a number, or the word for one each.
func (k *Keys) UnmarshalText(text []byte) error {
	if *k = OneEach; string(text) == each {
		return nil
	}
	n, err := strconv.Atoi(string(text))
	*k = Keys(n)
	return err
}

// MarshalText writes a number, or the word for one each.
func (k *Keys) MarshalText() ([]byte, error) {
	if *k == OneEach {
		return []byte(each), nil
	}
	return strconv.AppendInt(nil, int64(*k), 10), nil
}

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

// maxPoints of a suite: more of them take days, and are a slip of the pen.
const maxPoints = 1000

// handOver is what a hold costs beyond itself, about, when a round's time is reckoned.
const handOver = 300 * time.Microsecond

// Points are the conditions of all sections, in the order of the file.
func (s *Suite) Points() []bench.Point {
	var all []bench.Point
	for i := range s.Sections {
		all = append(all, s.Sections[i].Points()...)
	}
	return all
}

// Points is every combination of clients, keys, holds and rates.
func (s *Section) Points() []bench.Point {
	rates := s.Rate
	if len(rates) == 0 {
		rates = []float64{0}
	}
	var all []bench.Point
	for _, clients := range s.Clients {
		for _, keys := range s.Keys {
			for _, hold := range s.Hold {
				for _, rate := range rates {
					all = append(all, s.point(clients, keys, hold, rate))
				}
			}
		}
	}
	return all
}

func (s *Section) point(clients int, each Keys, hold time.Duration, rate float64) bench.Point {
	keys := int(each)
	if each == OneEach {
		keys = clients
	}
	id := fmt.Sprintf("%s-%dc-%dk-%s", s.Name, clients, keys, short(hold))
	if rate > 0 {
		id += "-" + strconv.FormatFloat(rate, 'f', -1, 64) + "rps"
	}
	return bench.Point{
		ID: id, Section: s.Name, Workload: s.Workload, Clients: clients, Processes: min(s.Processes, clients), Keys: keys,
		HoldNS: int64(hold), WaitNS: int64(s.Wait), TTLNS: int64(s.TTL), Arrivals: s.Arrivals, Rate: rate, Fault: s.Fault,
		DurationNS: int64(s.window(clients, keys, hold)),
	}
}

// window is how long a trial measures: at least the duration, and the rounds. In a round each client of a key has its turn.
func (s *Section) window(clients, keys int, hold time.Duration) time.Duration {
	turns := (clients + keys - 1) / keys
	return max(s.Duration, time.Duration(s.Rounds)*time.Duration(turns)*(hold+handOver))
}

func (s *Section) combinations() int {
	return len(s.Clients) * len(s.Keys) * len(s.Hold) * max(1, len(s.Rate))
}

// short writes a duration in whole units and plain letters, since it becomes part of a folder's name.
func short(d time.Duration) string {
	switch {
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d%time.Microsecond == 0:
		return fmt.Sprintf("%dus", d/time.Microsecond)
	}
	return fmt.Sprintf("%dns", d)
}
