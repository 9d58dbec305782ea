package selection

import (
	"time"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/stats"
)

// Evidence holds the verdicts and measurements on which the selection of a lock is based. Sources are the runs and
// benchmarks that produced them.
type Evidence struct {
	Sources  []Source       `json:"sources"`
	Findings []Finding      `json:"findings"`
	Figures  []Figure       `json:"figures"`
	Times    []RecordedTime `json:"times"`
	Paused   []PausedHolds  `json:"paused_holds"`
}

// Source is the folder of a run or a benchmark that provides evidence.
type Source struct {
	ID          string          `json:"id"`   // id in the report: R1, R2, ... for runs and B1, B2, ... for benchmarks
	Kind        string          `json:"kind"` // kind of the folder: "run" or "bench"
	Dir         string          `json:"dir"`  // path of the folder with slashes, relative to the folder of the report
	Command     string          `json:"command"`
	Seed        uint64          `json:"seed"`
	Started     string          `json:"started"` // start time in the format RFC 3339
	Servers     string          `json:"servers"` // how the servers were run
	Environment run.Environment `json:"environment"`
	Notes       []string        `json:"notes,omitempty"`
	// Withheld holds the failed control checks of a benchmark. If there are any, all figures of the benchmark are invalid.
	Withheld []string `json:"withheld,omitempty"`
}

// Finding is the verdict on one property of a lock in one workload under one fault, over all trials.
type Finding struct {
	ID         string           `json:"id"` // id in the report: P1, P2, ...
	Source     string           `json:"source"`
	Dir        string           `json:"dir"` // folder of the trials, relative to the folder of the run
	Lock       string           `json:"lock"`
	Deployment string           `json:"deployment"`
	Workload   string           `json:"workload"`
	Fault      string           `json:"fault"`
	Scenario   string           `json:"scenario,omitempty"`
	Property   string           `json:"property"`
	Observed   checker.Observed `json:"observed"`
	Why        string           `json:"why,omitempty"` // reason why the property is undecided or does not apply
	Trials     int              `json:"trials"`        // trials in which the property applied
	ViolatedIn int              `json:"violated_in"`   // trials in which the property is violated
	Violations int              `json:"violations"`    // number of violations in all trials
	Operations int              `json:"operations"`
	Evidence   string           `json:"evidence"` // evidence in words, such as numbers of hand-offs and faults
	TTLNS      int64            `json:"ttl_ns"`   // requested lease in the trials, in nanoseconds
	Clients    int              `json:"clients"`
	Example    string           `json:"example,omitempty"`
	Histories  []History        `json:"histories"`
}

// Figure is the value of a metric of a lock, measured over the trials of a benchmark or a run.
type Figure struct {
	ID         string         `json:"id"` // id in the report: M1, M2, ...
	Source     string         `json:"source"`
	Dir        string         `json:"dir"` // folder of the trials, relative to the folder of the run or benchmark
	Lock       string         `json:"lock"`
	Deployment string         `json:"deployment"`
	Metric     string         `json:"metric"` // name of a metric of a bench, or RecoveryMetric
	Unit       string         `json:"unit"`
	Point      bench.Point    `json:"point"` // conditions of the trials; a run sets only clients, lease and fault
	Estimate   stats.Estimate `json:"estimate"`
	Unsafe     string         `json:"unsafe,omitempty"`  // violation that makes the figure invalid; empty without a violation
	Limited    string         `json:"limited,omitempty"` // limit of the harness or the machine that affected the figure
	Histories  []History      `json:"histories"`
}

// RecordedTime holds quantiles of a duration over all trials of a lock.
type RecordedTime struct {
	ID        string          `json:"id"` // id in the report: T1, T2, ...
	Source    string          `json:"source"`
	Lock      string          `json:"lock"`
	What      string          `json:"what"` // name of the duration, always "acquire"
	Where     string          `json:"where"`
	N         int64           `json:"n"`
	Quantiles []time.Duration `json:"quantiles_ns"` // evenly spaced quantiles; the last element is the maximum
	Histories []History       `json:"histories"`
}

// RecoveryMetric is the name of a metric that runs measure: the time from the death of a holder to the next grant, as a
// multiple of the lease.
const RecoveryMetric = "recovery"

// History identifies the file of a history by its path and checksum.
type History struct {
	File   string `json:"file"` // path with slashes, relative to the folder of the run or benchmark; empty: the history was not stored
	SHA256 string `json:"sha256"`
}
