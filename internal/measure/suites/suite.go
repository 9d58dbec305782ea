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
	Trials    int           // number of trials of each subject at each point
	MaxTrials int           // maximum number of trials if the interval is wide
	Budget    time.Duration // total time; 0: unlimited
	// Narrow is the half width of the 95 % interval of the goodput, relative to the median, below which no more trials are
	// needed.
	Narrow     float64
	Seed       uint64 // seed of all random choices; 0: random
	Sections   []Section
	Thresholds []bench.Threshold // each is for one number of clients and one other subject
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
	Wait      time.Duration // timeout of an acquire; 0: wait until granted
	TTL       time.Duration
	Processes int // number of processes, at most one for each client
	Arrivals  bench.Arrivals
	Rate      []float64 // requests per second of all clients together; empty if arrivals are closed
	Fault     string
	Duration  time.Duration // minimum measured time
	Rounds    int           // number of turns of each client that must fit into the window
}

// Lock is a lock of the table and its parameters.
type Lock struct {
	Name       string            // name in the table of locks
	Deployment string            // empty: the usual deployment of the lock
	As         string            // name of the subject; empty: the name of the lock
	Params     map[string]string // parameters of the lock
}

// Subject returns the name of the lock in figures and thresholds.
func (l Lock) Subject() string { return cmp.Or(l.As, l.place()) }

func (l Lock) place() string { return strings.TrimSuffix(l.Name+"@"+l.Deployment, "@") }

// Keys is the number of different keys.
type Keys int

// OneEach stands for a key for each client, so that no client waits.
const OneEach Keys = 0

// Baselines returns the names of the baselines: the harness without a lock, a lock within one process, a loop of plain
// commands, and a round trip.
func Baselines() []string { return []string{"none", "local-mutex", "bare", "ping"} }

// Filled returns the suite with defaults in place of zero values.
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

// shippedNames lists the suites of lockbench, from the shortest to the longest.
func shippedNames() []string { return []string{"quick", "stores", "contention", "standard"} }

// Shipped returns the suites of lockbench.
func Shipped() []Suite {
	return lo.Map(shippedNames(), func(name string, _ int) Suite {
		whole, _ := Source(name)
		return *lo.Must(Parse(name+".yaml", whole, Known{})) // no error: a test parses every shipped suite
	})
}

// Source returns the file of a shipped suite.
func Source(name string) ([]byte, bool) {
	whole, err := files.ReadFile("shipped/" + name + ".yaml")
	return whole, err == nil
}
