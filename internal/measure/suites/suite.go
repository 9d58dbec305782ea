// Package suites reads the YAML file that says what a bench measures. Parse returns a Suite, or all mistakes with their places.
package suites

import (
	"cmp"
	"embed"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/bench"
)

// Suite is what a bench measures.
type Suite struct {
	Name      string
	Doc       string
	Trials    int           // of each subject at each point
	MaxTrials int           // of points whose intervals are wide
	Budget    time.Duration // total; 0: unlimited
	// Narrow is the half width of the 95 % interval of goodput, relative to its median, at which trials end.
	Narrow     float64
	Seed       uint64 // of all randomness; 0: random
	Sections   []Section
	Thresholds []bench.Threshold // each with one number of clients and one other subject
}

// Section lists subjects and points. Every subject is measured at every point.
type Section struct {
	Name      string
	Locks     []Lock
	Baselines []string
	Workload  string
	Clients   []int
	Keys      []Keys
	Hold      []time.Duration
	Wait      time.Duration // 0: until granted
	TTL       time.Duration
	Processes int // at most one for each client
	Arrivals  bench.Arrivals
	Rate      []float64 // per second, of all clients together; none if arrivals are closed
	Fault     string
	Duration  time.Duration // the least measured time
	Rounds    int           // turns of each client that must fit into the window
}

// Lock is a lock of the table and its parameters.
type Lock struct {
	Name       string            // in the table
	Deployment string            // empty: its usual one
	As         string            // the name of the subject; empty: that of the lock
	Params     map[string]string // of the lock
}

// Subject returns the name in figures and thresholds.
func (l Lock) Subject() string { return cmp.Or(l.As, l.place()) }

func (l Lock) place() string { return strings.TrimSuffix(l.Name+"@"+l.Deployment, "@") }

// Keys is the number of different keys.
type Keys int

// OneEach is a key for each client, so that no client waits.
const OneEach Keys = 0

// Baselines returns the names of the baselines: the harness, a lock within one process, a loop of plain commands, and a
// round trip.
func Baselines() []string { return []string{"none", "local-mutex", "bare", "ping"} }

// Filled returns the suite with its defaults.
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

// fill sets a zero value to its default.
func fill[T comparable](at *T, to T) {
	if *at == *new(T) {
		*at = to
	}
}

//go:embed shipped/*.yaml
var files embed.FS

// shippedNames lists the suites of lockbench, from the shortest to the longest.
func shippedNames() []string { return []string{"quick", "stores", "contention", "standard"} }

// Shipped returns the suites of lockbench.
func Shipped() []Suite {
	return lo.Map(shippedNames(), func(name string, _ int) Suite {
		whole, _ := Source(name)
		return *lo.Must(Parse(name+".yaml", whole, Known{})) // a test reads each
	})
}

// Source returns the file of a shipped suite.
func Source(name string) ([]byte, bool) {
	whole, err := files.ReadFile("shipped/" + name + ".yaml")
	return whole, err == nil
}
