// Package suites reads the YAML file of a suite, which lists the locks and conditions that a bench measures. Parse returns a
// Suite, or all mistakes with their positions.
package suites

import (
	"cmp"
	"embed"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/bench"
)

// Suite lists the locks and conditions that a bench measures.
type Suite struct {
	Name      string
	Doc       string
	Trials    int           // number of trials of each lock under each combination of conditions
	MaxTrials int           // maximum number of trials if the confidence interval stays wide
	Budget    time.Duration // time limit of the whole bench; 0: unlimited
	// Narrow is the largest relative width of a narrow confidence interval: half the width of the 95 % interval of the
	// goodput, divided by the median. A lock with a narrow interval needs no more trials.
	Narrow     float64
	Seed       uint64 // seed of all random choices; 0: a random seed
	Sections   []Section
	Thresholds []bench.Threshold // one threshold for each limit in the file, each of its numbers of clients, and each lock of comparison
}

// Section lists locks and conditions. Every lock is measured under every combination of the conditions.
type Section struct {
	Name      string
	Locks     []Lock
	Baselines []string
	Workload  string
	Clients   []int
	Keys      []Keys
	Hold      []time.Duration
	Wait      time.Duration // timeout of an acquire; 0: wait until granted
	TTL       time.Duration
	Processes int // number of client processes; each has at least one client
	Arrivals  bench.Arrivals
	Rate      []float64 // acquires per second by all clients together; empty if each client waits for its previous acquire
	Fault     string
	Duration  time.Duration // minimum length of the measurement
	Rounds    int           // minimum number of times that each client can hold a lock during the measurement
}

// Lock holds the name, the deployment and the parameters of a lock to measure.
type Lock struct {
	Name       string            // lock name, as in the table of locks
	Deployment string            // empty: the default deployment of the lock
	As         string            // name in reports and thresholds; empty: the name of the lock
	Params     map[string]string // parameters of the lock
}

// Subject returns the name that reports and thresholds use for the lock. It is As, or else the lock's name and
// deployment.
func (l Lock) Subject() string { return cmp.Or(l.As, l.place()) }

func (l Lock) place() string { return strings.TrimSuffix(l.Name+"@"+l.Deployment, "@") }

// Keys is the number of keys that the clients share, or OneEach if each client has a separate key.
type Keys int

// OneEach stands for one key per client, so that no client has to wait.
const OneEach Keys = 0

// Baselines returns the names of the baselines: none (no lock), local-mutex, bare (plain commands in a loop) and ping (round
// trips).
func Baselines() []string { return []string{"none", "local-mutex", "bare", "ping"} }

// Filled returns the suite with zero values replaced by defaults.
func (s Suite) Filled() Suite {
	fill(&s.Trials, 10)
	fill(&s.MaxTrials, s.Trials)
	fill(&s.Narrow, 0.05)
	for i := range s.Sections {
		s.Sections[i].fill()
	}
	return s
}

func (s *Section) fill() {
	fill(&s.Workload, "contend")
	fill(&s.TTL, 10*time.Second)
	fill(&s.Processes, 2)
	fill(&s.Arrivals, bench.Closed)
	fill(&s.Fault, "none")
	fill(&s.Duration, 500*time.Millisecond)
	if len(s.Keys) == 0 {
		s.Keys = []Keys{1}
	}
	if len(s.Hold) == 0 {
		s.Hold = []time.Duration{0}
	}
}

// fill sets a variable to its default if it is zero.
func fill[T comparable](at *T, to T) {
	if *at == *new(T) {
		*at = to
	}
}

//go:embed shipped/*.yaml
var files embed.FS

// shippedNames lists the built-in suites, from the shortest to the longest.
func shippedNames() []string { return []string{"quick", "stores", "contention", "standard"} }

// Shipped returns the built-in suites.
func Shipped() []Suite {
	return lo.Map(shippedNames(), func(name string, _ int) Suite {
		whole, _ := Source(name)
		return *lo.Must(Parse(name+".yaml", whole, Known{})) // cannot fail: a test parses every built-in suite
	})
}

// Source returns the YAML text of a built-in suite.
func Source(name string) ([]byte, bool) {
	whole, err := files.ReadFile("shipped/" + name + ".yaml")
	return whole, err == nil
}
