package selection

import (
	"time"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/stats"
)

// Evidence is all that was observed of the options.
type Evidence struct {
	Sources  []Source       `json:"sources"`
	Findings []Finding      `json:"findings"`
	Figures  []Figure       `json:"figures"`
	Times    []RecordedTime `json:"times"`
	Paused   []PausedHolds  `json:"paused_holds"`
}

// Source is one folder of results.
type Source struct {
	ID          string          `json:"id"`   // R1, B1: findings and figures name it
	Kind        string          `json:"kind"` // run, bench
	Dir         string          `json:"dir"`  // with slashes, seen from the folder of the report
	Command     string          `json:"command"`
	Seed        uint64          `json:"seed"`
	Started     string          `json:"started"` // RFC 3339
	Servers     string          `json:"servers"` // how they were brought up
	Environment run.Environment `json:"environment"`
	Notes       []string        `json:"notes,omitempty"`
	// Withheld says why the figures of a bench do not count: its controls failed.
	Withheld []string `json:"withheld,omitempty"`
}

// Finding is the observation of one property of a lock in one cell of a run, over all of its trials.
type Finding struct {
	ID         string           `json:"id"` // P1, ...: unique in a report
	Source     string           `json:"source"`
	Dir        string           `json:"dir"` // of the cell, in its source
	Lock       string           `json:"lock"`
	Deployment string           `json:"deployment"`
	Workload   string           `json:"workload"`
	Fault      string           `json:"fault"`
	Scenario   string           `json:"scenario,omitempty"`
	Property   string           `json:"property"`
	Observed   checker.Observed `json:"observed"`
	Why        string           `json:"why,omitempty"` // it is undecided, or does not apply
	Trials     int              `json:"trials"`        // in which it applied
	ViolatedIn int              `json:"violated_in"`   // of those
	Violations int              `json:"violations"`    // over all of them
	Operations int              `json:"operations"`
	Evidence   string           `json:"evidence"` // the counts that are its evidence, in words
	TTLNS      int64            `json:"ttl_ns"`   // the lease that was asked for
	Clients    int              `json:"clients"`
	Example    string           `json:"example,omitempty"`
	Histories  []History        `json:"histories"`
}

// Figure is a metric of a lock, over trials: of a bench's point, or of a run.
type Figure struct {
	ID         string         `json:"id"` // M1, ...: unique in a report
	Source     string         `json:"source"`
	Dir        string         `json:"dir"` // of the trials' folders, in its source
	Lock       string         `json:"lock"`
	Deployment string         `json:"deployment"`
	Metric     string         `json:"metric"` // of benchmark.Metrics, or Recovery
	Unit       string         `json:"unit"`
	Point      bench.Point    `json:"point"` // a run's has clients, lease and fault alone
	Estimate   stats.Estimate `json:"estimate"`
	Unsafe     string         `json:"unsafe,omitempty"`  // the violation by which it means nothing
	Limited    string         `json:"limited,omitempty"` // the harness, and not the lock, was the limit
	Histories  []History      `json:"histories"`
}

// RecordedTime is how long something took, over all trials of a lock: by its quantiles.
type RecordedTime struct {
	ID        string          `json:"id"` // T1, ...: unique in a report
	Source    string          `json:"source"`
	Lock      string          `json:"lock"`
	What      string          `json:"what"` // acquire
	Where     string          `json:"where"`
	N         int64           `json:"n"`
	Quantiles []time.Duration `json:"quantiles_ns"` // at the middle of as many equal parts of all; the last is the longest
	Histories []History       `json:"histories"`
}

// RecoveryMetric is the time from the death of a holder to the next grant, as a multiple of the lease. It is read from runs.
const RecoveryMetric = "recovery"

// History is a record that something rests on.
type History struct {
	File   string `json:"file"` // in its source, with slashes; empty: it was not kept
	SHA256 string `json:"sha256"`
}
