// Package bench is the report of a bench. It reads a bench folder (a Plan and its Trials) and never measures; Results
// are the figures over the trials, the rankings and the bench's controls. Page, Markdown and Text show them, Comparisons
// compare two runs or two locks, and Gate holds a run to thresholds.
package bench

import (
	"time"

	"lockbench/reports/run"
)

// Version is the version of the files that this package writes, and the newest that it reads.
const Version = 1

// Plan is bench.json: what is to be measured, on what, and how to do it again.
type Plan struct {
	Version     int             `json:"lockbench_bench"`
	Name        string          `json:"name"` // of the suite
	Doc         string          `json:"doc,omitempty"`
	Started     time.Time       `json:"started,omitzero"`
	Ended       time.Time       `json:"ended,omitzero"` // zero: it did not come to its end
	Interrupted bool            `json:"interrupted,omitempty"`
	Command     string          `json:"command"` // the one line that reproduces it, without secrets
	Seed        uint64          `json:"seed"`    // of all randomness: also of the order within each block
	Servers     string          `json:"servers"` // how they were brought up
	BudgetNS    int64           `json:"budget_ns"`
	Trials      int             `json:"trials"`            // of each subject and point, as planned
	Stopped     string          `json:"stopped,omitempty"` // why it ended with fewer, or with more
	Environment run.Environment `json:"environment"`
	Notes       []string        `json:"notes,omitempty"`    // what a reader must know
	Warnings    []string        `json:"warnings,omitempty"` // what went otherwise than it should
	Subjects    []Subject       `json:"subjects"`           // in display order
	Points      []Point         `json:"points"`             // in display order
	Pairs       []Pair          `json:"pairs"`              // what is measured where: these are one block
	Thresholds  []Threshold     `json:"thresholds,omitempty"`
}

// Role is why a subject is measured.
type Role string

const (
	Lock    Role = "lock"    // it is what one chooses from
	Control Role = "control" // it is broken: the judge must say so
	Floor   Role = "floor"   // what the harness, a round trip or a loop without a lock's care costs at the least
	Again   Role = "again"   // a lock a second time: nothing may tell the two apart
	Delayed Role = "delayed" // a lock behind a network with a known delay, which must be found
	Stalled Role = "stalled" // a generator that stands still on purpose, which must be noticed
)

// Subject is what is measured.
type Subject struct {
	Name       string            `json:"name"`           // tells subjects apart
	Lock       string            `json:"lock,omitempty"` // of the table; empty: a floor that is none
	Deployment string            `json:"deployment,omitempty"`
	Params     map[string]string `json:"params,omitempty"`
	Role       Role              `json:"role"`
	Store      string            `json:"store,omitempty"`
	Server     string            `json:"server,omitempty"`     // product and version
	Durability string            `json:"durability,omitempty"` // what has become of a write when it is acknowledged
	Peer       bool              `json:"peer,omitempty"`       // a library of others
	Defect     string            `json:"defect,omitempty"`     // what it is known not to do, by its own table: no merit is drawn from its speed
	Doc        string            `json:"doc,omitempty"`
}

// Arrivals is how iterations begin.
type Arrivals string

const (
	Closed   Arrivals = "closed"   // each client's as soon as its last is done
	Constant Arrivals = "constant" // at a fixed interval
	Poisson  Arrivals = "poisson"  // independently, at a mean rate
	Burst    Arrivals = "burst"    // several at once, at a mean rate
)

// Point is the conditions under which subjects are compared: figures of different points stand in no ratio.
type Point struct {
	ID         string   `json:"id"`      // tells points apart; a clean folder name
	Section    string   `json:"section"` // of the suite
	Workload   string   `json:"workload"`
	Clients    int      `json:"clients"`
	Processes  int      `json:"processes"`
	Keys       int      `json:"keys"` // client c asks for key c modulo Keys
	HoldNS     int64    `json:"hold_ns"`
	WaitNS     int64    `json:"wait_ns,omitempty"` // a waiting client's patience; 0: until granted
	TTLNS      int64    `json:"ttl_ns"`
	Arrivals   Arrivals `json:"arrivals"`
	Rate       float64  `json:"rate_per_second,omitempty"` // of all clients together; 0 where they are closed
	Fault      string   `json:"fault"`                     // "none" where nothing is injected
	DurationNS int64    `json:"duration_ns"`               // of the measured window of each trial
}

// ControlSection is the section of points at which nothing is compared but the bench's own controls and floors.
const ControlSection = "controls"

// Contended reports whether two clients ever ask for the same key.
func (p Point) Contended() bool { return p.Clients > p.Keys }

// Pair is one subject at one point, by their places in Plan.
type Pair struct {
	Subject int `json:"subject"`
	Point   int `json:"point"`
}

// Threshold is a limit for Gate: absolute, or of the ratio to another subject, or to the same subject in an earlier run.
type Threshold struct {
	Subject    string   `json:"lock"`
	Section    string   `json:"section,omitempty"` // "": wherever it was measured
	Clients    int      `json:"clients,omitempty"` // 0: all points of the section
	Metric     string   `json:"metric"`            // by name: see Metrics
	Min        *float64 `json:"min,omitempty"`
	Max        *float64 `json:"max,omitempty"`
	To         string   `json:"ratio_to,omitempty"`          // another subject
	ToBaseline bool     `json:"ratio_to_baseline,omitempty"` // the same subject, in the run that is compared with
}
