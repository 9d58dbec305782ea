package selection

import (
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/stats"
)

// Option is something that a team can choose.
type Option struct {
	Name       string `json:"name"` // of a lock in the table, lock@deployment, or one of the Means
	Kind       Kind   `json:"kind"`
	Doc        string `json:"doc"` // one sentence
	Store      string `json:"store,omitempty"`
	Deployment string `json:"deployment,omitempty"`
	Lease      Lease  `json:"lease,omitempty"`
	Reentrant  bool   `json:"reentrant,omitempty"`
	Fences     bool   `json:"fences,omitempty"`
	// Languages are those in which it is to be had, and as what; "any": it is a few commands, or a script.
	Languages  map[string]string `json:"languages,omitempty"`
	ShortestNS int64             `json:"shortest_lease_ns,omitempty"` // lease that is asked of it to show what it does; 0: any
	BackOffNS  int64             `json:"back_off_ns,omitempty"`       // the longest pause between two tries of a waiter; 0: it is told
	Claims     []Claim           `json:"claims,omitempty"`            // the violations that its own table expects
}

// Kind is what an option is.
type Kind string

const (
	ALock  Kind = "lock"
	NoLock Kind = "no-lock" // something that takes the place of a lock
)

// Lease is what ends a hold that nobody gives back.
type Lease string

const (
	NoLease    Lease = "none"       // nothing
	Fixed      Lease = "fixed"      // a time, which nobody moves on
	Renewed    Lease = "renewed"    // a time, which the holder's process moves on while it lives
	Connection Lease = "connection" // the end of the holder's connection
)

// Claim is a violation that a lock's own table expects, and why.
type Claim struct {
	Property   string `json:"property"`
	Workload   string `json:"workload,omitempty"`
	Fault      string `json:"fault"`
	Deployment string `json:"deployment,omitempty"`
	Because    string `json:"because"`
}

// Lock returns the lock of lock@deployment.
func (o Option) Lock() string {
	lock, _, _ := strings.Cut(o.Name, "@")
	return lock
}

// LeaseAdvice is how long a lease to ask for, and what each length would mean.
type LeaseAdvice struct {
	Option    string       `json:"option"` // whose acquire times and way of renewing these are
	Lease     Lease        `json:"lease"`
	NeededNS  int64        `json:"needed_ns,omitempty"` // the shortest lease that outlasts the longest pause, and work if nothing renews it
	AdvisedNS int64        `json:"advised_ns"`          // 0: no lease does what is needed
	Inputs    []LeaseInput `json:"inputs"`              // what the curve is made from
	Curve     []LeasePoint `json:"curve"`               // by rising lease
	Confirmed []Confirmed  `json:"confirmed"`
}

// LeaseInput is one of the times from which the curve is made.
type LeaseInput struct {
	Name     string   `json:"name"` // hold, pause, acquire, hand-off
	Tag      Tag      `json:"tag"`  // unknown: it is taken to last no time
	Times    Times    `json:"times"`
	N        int      `json:"n,omitempty"`     // how many were recorded; 0: the quantiles were given
	Where    string   `json:"where,omitempty"` // under what conditions they were recorded or measured
	Evidence []string `json:"evidence,omitempty"`
}

// LeasePoint is what a lease of one length comes to.
type LeasePoint struct {
	TTLNS int64 `json:"ttl_ns"`
	// Double is the probability, for each acquisition while others wait, that another client is granted the lock before its
	// holder is done.
	Double float64 `json:"double_hold"`
	// GivenPause is the same if a pause falls into the hold.
	GivenPause float64 `json:"double_hold_given_a_pause"`
	// From the death of a holder to the next grant: the mean over when it dies, and at most.
	RecoveryMeanNS int64 `json:"recovery_mean_ns"`
	RecoveryMaxNS  int64 `json:"recovery_max_ns"`
}

// Confirmed is a point of the curve that was tried: processes were paused in their holds, for times drawn from the
// distribution of pauses.
type Confirmed struct {
	TTLNS     int64     `json:"ttl_ns"` // as it was tried
	Scale     float64   `json:"scale"`  // all times of the trial divided by those of the needs
	Predicted float64   `json:"predicted"`
	Pauses    int       `json:"pauses"`  // that fell into a hold
	Doubles   int       `json:"doubles"` // of those: another client was granted the lock before its holder was done
	Low       float64   `json:"low"`     // of the 95 % interval (Clopper-Pearson) of the observed share
	High      float64   `json:"high"`
	Agrees    bool      `json:"agrees"` // the prediction lies in the interval
	Source    string    `json:"source"`
	Histories []History `json:"histories"`
}

// Share returns the observed share of double holds.
func (c Confirmed) Share() float64 {
	if c.Pauses == 0 {
		return 0
	}
	return float64(c.Doubles) / float64(c.Pauses)
}

// InUse returns the lease, in nanoseconds, that a scaled trial stands for.
func (c Confirmed) InUse() float64 {
	if c.Scale > 0 {
		return float64(c.TTLNS) / c.Scale
	}
	return float64(c.TTLNS)
}

// StoodStill is what pauses came to in the trials of one lease.
type StoodStill struct {
	ID        string    `json:"id"` // S1, ...: unique in a report
	Source    string    `json:"source"`
	Dir       string    `json:"dir"` // of the cell, in its source
	Lock      string    `json:"lock"`
	TTLNS     int64     `json:"ttl_ns"`
	Holds     int       `json:"holds"`   // into which a pause fell, and which came to an end
	Doubled   int       `json:"doubled"` // of those: another client was granted the lock before their holder was done
	Histories []History `json:"histories"`
}

// Evidence is all that was observed of the options.
type Evidence struct {
	Sources  []Source       `json:"sources"`
	Findings []Finding      `json:"findings"`
	Figures  []Figure       `json:"figures"`
	Times    []RecordedTime `json:"times"`
	Stood    []StoodStill   `json:"stood_still"`
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
	// Withheld says why the figures of a bench are not to be used: controls of its own failed.
	Withheld []string `json:"withheld,omitempty"`
}

// Finding is what was observed of one property of a lock, in one cell of a run: over all of its trials.
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
	Weight     string           `json:"weight"` // the counts that give it its weight, in words
	TTLNS      int64            `json:"ttl_ns"` // the lease that was asked for
	Clients    int              `json:"clients"`
	Witness    string           `json:"witness,omitempty"`
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
