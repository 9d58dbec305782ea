package suites

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
)

// Parse reads a suite from YAML. The error lists every mistake with its position.
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
	if len(limits) > 0 {
		s.Thresholds = thresholds(limits)
	}
	return &s, nil
}

// Write returns a suite as YAML that Parse can read.
func Write(s Suite) []byte {
	limits := lo.Map(s.Thresholds, func(t bench.Threshold, _ int) limit {
		return limit{Lock: t.Subject, Section: t.Section, Metric: t.Metric, Min: t.Min, Max: t.Max, ToBaseline: t.ToBaseline,
			Clients: lo.Compact([]int{t.Clients}), To: lo.Compact([]string{t.To})}
	})
	return yamlfile.Write(suiteKeys(&s, &limits, Known{}))
}

// limit is a threshold as written in the YAML file. It may compare a lock with several other locks, for several numbers
// of clients.
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
	return lo.FlatMap(limits, func(l limit, _ int) []bench.Threshold {
		return lo.CrossJoinBy2(orZero(l.Clients), orZero(l.To), func(clients int, to string) bench.Threshold {
			return bench.Threshold{Subject: l.Lock, Section: l.Section, Clients: clients, Metric: l.Metric,
				Min: l.Min, Max: l.Max, To: to, ToBaseline: l.ToBaseline}
		})
	})
}

// orZero returns list. If list is empty, it returns a list that contains only a zero.
func orZero[T any](list []T) []T { return lo.Ternary(len(list) == 0, make([]T, 1), list) }

// UnmarshalText parses a lock name, optionally followed by @ and a deployment.
func (l *Lock) UnmarshalText(text []byte) error {
	l.Name, l.Deployment, _ = strings.Cut(string(text), "@")
	return nil
}

// MarshalText returns the lock name, followed by @ and the deployment if there is one.
func (l *Lock) MarshalText() ([]byte, error) { return []byte(l.place()), nil }

const each = "clients"

// UnmarshalText reads a number of keys, or "clients" for one key per client.
func (k *Keys) UnmarshalText(text []byte) error {
	if *k = OneEach; string(text) == each {
		return nil
	}
	n, err := strconv.Atoi(string(text))
	*k = Keys(n)
	return err
}

// MarshalText returns the number of keys, or "clients" for one key per client.
func (k *Keys) MarshalText() ([]byte, error) {
	if *k == OneEach {
		return []byte(each), nil
	}
	return strconv.AppendInt(nil, int64(*k), 10), nil
}

// Known holds the names that a suite may use. A nil list allows any name.
type Known struct {
	Locks, Workloads, Faults []string
	// Lock returns an error if the lock does not support the deployment or a parameter.
	Lock func(Lock) error
}

func (k Known) lock(into any) error {
	if k.Lock == nil {
		return nil
	}
	return k.Lock(*into.(*Lock))
}

// Table returns a description of all keys of the suite format, for its documentation and JSON schema.
func Table() []yamlfile.Key { return suiteKeys(new(Suite), new([]limit), Known{}) }

func suiteKeys(s *Suite, limits *[]limit, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: &s.Name, Form: yamlfile.Name, Required: true, Doc: "unique name"},
		{Name: "doc", Into: &s.Doc, Form: yamlfile.Text, Doc: "its question, in a sentence"},
		{Name: "trials", Into: &s.Trials, Form: yamlfile.Whole, Min: 1, Top: 1000, Normally: "10", Doc: "of each subject at each point; the self-checks need 8"},
		{Name: "max_trials", Into: &s.MaxTrials, Form: yamlfile.Whole, Min: 1, Top: 1000, Normally: "as `trials`", Doc: "of subjects whose interval is not narrow by then"},
		{Name: "budget", Into: &s.Budget, Form: yamlfile.Span, From: time.Second, To: 24 * time.Hour, Normally: "none", Doc: "total time"},
		{Name: "narrow", Into: &s.Narrow, Form: yamlfile.Number, Min: 0.001, Max: 1, Normally: "0.05", Doc: "half width of the 95 % interval of goodput, relative to its median, at which trials end"},
		{Name: "seed", Into: &s.Seed, Form: yamlfile.Whole, Top: math.MaxUint64, Normally: "0", Doc: "of all randomness, and of the order within each block; 0: random"},
		{Name: "sections", Into: &s.Sections, Form: yamlfile.Mapping, List: true, Required: true, Of: func(into any) []yamlfile.Key { return sectionKeys(into.(*Section), k) }, Doc: "what is measured"},
		{Name: "thresholds", Into: limits, Form: yamlfile.Mapping, List: true, Normally: "none", Of: func(into any) []yamlfile.Key { return thresholdKeys(into.(*limit)) }, Doc: "limits that `lockbench gate` checks"},
	}
}

func sectionKeys(s *Section, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: &s.Name, Form: yamlfile.Name, Required: true, Doc: "unique name"},
		{Name: "locks", Into: &s.Locks, Form: yamlfile.Placed, List: true, Values: k.Locks, Normally: "none", Of: func(into any) []yamlfile.Key { return lockKeys(into.(*Lock), k) }, Check: k.lock, Doc: "a name, `name@deployment`, or a mapping; see below"},
		{Name: "baselines", Old: "floors", Into: &s.Baselines, Form: yamlfile.Choice, List: true, Values: Baselines(), Normally: "none", Doc: "measured beside the locks; a section has locks or baselines"},
		{Name: "workload", Into: &s.Workload, Form: yamlfile.Choice, Values: k.Workloads, Normally: "contend", Doc: "see `lockbench list workloads`"},
		{Name: "clients", Into: &s.Clients, Form: yamlfile.Whole, List: true, Required: true, Min: 1, Top: 10000, Doc: "concurrent clients"},
		{Name: "keys", Into: &s.Keys, Form: yamlfile.Whole, List: true, Min: 1, Top: 10000, Instead: "clients", Normally: "1", Doc: "client c uses key c modulo this; `clients`: a key for each client"},
		{Name: "hold", Into: &s.Hold, Form: yamlfile.Span, List: true, To: time.Minute, Normally: "0s", Doc: "time inside the critical section"},
		{Name: "wait", Into: &s.Wait, Form: yamlfile.Span, To: time.Hour, Normally: "0s", Doc: "timeout of an acquire; 0s: none"},
		{Name: "ttl", Into: &s.TTL, Form: yamlfile.Span, From: 400 * time.Millisecond, To: time.Hour, Normally: "10s", Doc: "the lease"},
		{Name: "processes", Into: &s.Processes, Form: yamlfile.Whole, Min: 1, Top: 64, Normally: "2", Doc: "that clients are spread over; at most one for each client"},
		{Name: "arrivals", Into: &s.Arrivals, Form: yamlfile.Choice, Values: arrivals(), Normally: "closed", Doc: "how iterations begin: closed loop, or at a rate"},
		{Name: "rate", Into: &s.Rate, Form: yamlfile.Number, List: true, Min: 0.001, Max: 1e6, Normally: "none", Doc: "per second, of all clients together; required unless arrivals are closed"},
		{Name: "fault", Into: &s.Fault, Form: yamlfile.Choice, Values: k.Faults, Normally: "none", Doc: "see `lockbench list faults`"},
		{Name: "duration", Into: &s.Duration, Form: yamlfile.Span, From: 10 * time.Millisecond, To: time.Hour, Normally: "500ms", Doc: "the least measured time of a trial"},
		{Name: "rounds", Into: &s.Rounds, Form: yamlfile.Whole, Min: 1, Top: 10000, Normally: "none", Doc: "turns of each client that must fit into the window; a turn of all takes clients / keys x (hold + 0.3 ms)"},
	}
}

func lockKeys(l *Lock, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: l, Form: yamlfile.Placed, Required: true, Values: k.Locks, Doc: "the lock, or `name@deployment`"},
		{Name: "as", Into: &l.As, Form: yamlfile.Name, Normally: "the name", Doc: "its name in figures and limits; required with `params`"},
		{Name: "params", Into: &l.Params, Form: yamlfile.Pairs, With: "as", WithWhy: "with params it is another subject, which needs a name", Normally: "none", Doc: "parameters of the lock"},
	}
}

func thresholdKeys(l *limit) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "lock", Into: &l.Lock, Form: yamlfile.Placed, Required: true, Doc: "the checked subject"},
		{Name: "section", Into: &l.Section, Form: yamlfile.Name, Normally: "all", Doc: "where it applies"},
		{Name: "clients", Into: &l.Clients, Form: yamlfile.Whole, List: true, Min: 1, Top: 10000, Normally: "all", Doc: "at these numbers of clients"},
		{Name: "metric", Into: &l.Metric, Form: yamlfile.Choice, Required: true, Values: metrics(), Doc: "see the metrics"},
		{Name: "min", Into: &l.Min, Form: yamlfile.Number, Max: 1e12, Normally: "none", Doc: "the least allowed value"},
		{Name: "max", Into: &l.Max, Form: yamlfile.Number, Max: 1e12, Normally: "none", Doc: "the greatest allowed value"},
		{Name: "ratio_to", Into: &l.To, Form: yamlfile.Placed, List: true, Normally: "none", Doc: "limit the ratio to another subject, or to each of several, of the same run"},
		{Name: "ratio_to_baseline", Into: &l.ToBaseline, Form: yamlfile.Flag, Normally: "false", Doc: "limit the ratio to the same subject of an earlier run"},
	}
}

func arrivals() []string {
	return []string{string(bench.Closed), string(bench.Constant), string(bench.Poisson), string(bench.Burst)}
}

func metrics() []string {
	return lo.Map(bench.Metrics(), func(m bench.Metric, _ int) string { return m.Name })
}

const maxPoints = 1000 // maximum number of combinations of conditions in a suite; more would take days

const handOver = 300 * time.Microsecond // approximate time from the end of a hold to the next grant

// Points returns all combinations of the section's clients, keys, hold times and rates.
func (s *Section) Points() []bench.Point {
	return lo.CrossJoinBy4(s.Clients, s.Keys, s.Hold, orZero(s.Rate), s.point)
}

func (s *Section) point(clients int, each Keys, hold time.Duration, rate float64) bench.Point {
	keys := lo.Ternary(each == OneEach, clients, int(each))
	id := fmt.Sprintf("%s-%dc-%dk-%s", s.Name, clients, keys, short(hold)) + lo.Ternary(rate > 0, "-"+yamlfile.Plainly(rate)+"rps", "")
	return bench.Point{
		ID: id, Section: s.Name, Workload: s.Workload, Clients: clients, Processes: min(s.Processes, clients), Keys: keys,
		HoldNS: int64(hold), WaitNS: int64(s.Wait), TTLNS: int64(s.TTL), Arrivals: s.Arrivals, Rate: rate, Fault: s.Fault,
		DurationNS: int64(s.measuredDuration(clients, keys, hold)),
	}
}

// measuredDuration returns the measured duration of a trial. It is at least Duration, and long enough for each client to hold a
// lock Rounds times.
func (s *Section) measuredDuration(clients, keys int, hold time.Duration) time.Duration {
	turns := (clients + keys - 1) / keys
	return max(s.Duration, time.Duration(s.Rounds)*time.Duration(turns)*(hold+handOver))
}

// short formats a duration for a folder name, with whole units and ASCII letters.
func short(d time.Duration) string {
	switch {
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d%time.Microsecond == 0:
		return fmt.Sprintf("%dus", d/time.Microsecond)
	}
	return fmt.Sprintf("%dns", d)
}
