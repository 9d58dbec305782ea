// Package bench writes the reports of benchmark runs. Read returns the Results of a bench folder, which holds a Plan
// and its Trials. Page, Markdown and Text format Results as a report. CompareRuns compares two runs, and
// CompareSubjects two locks. Gate checks a run against thresholds.
package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"lockbench/reports/run"
)

// Version is the version of the bench files that this package reads and writes.
const Version = 2

// Plan is the content of bench.json: what a bench measures, and the command that repeats it.
type Plan struct {
	Version     int             `json:"lockbench_bench"`
	Name        string          `json:"name"` // name of the suite
	Doc         string          `json:"doc,omitempty"`
	Started     time.Time       `json:"started,omitzero"`
	Ended       time.Time       `json:"ended,omitzero"` // end time; zero if the bench is running, was interrupted, or failed
	Interrupted bool            `json:"interrupted,omitempty"`
	Command     string          `json:"command"` // command line that reproduces the bench, without secrets
	Seed        uint64          `json:"seed"`    // seed of all random values and of the trial order
	Servers     string          `json:"servers"` // where the servers run: embedded, local, docker or remote
	BudgetNS    int64           `json:"budget_ns"`
	Agents      int             `json:"agents,omitempty"`  // number of agents that run the clients; 0: the program that wrote the bench runs them
	Trials      int             `json:"trials"`            // planned number of trials of each lock under each set of conditions
	Stopped     string          `json:"stopped,omitempty"` // reason why the bench ended
	Environment run.Environment `json:"environment"`
	Notes       []string        `json:"notes,omitempty"`    // notes at the top of the report
	Warnings    []string        `json:"warnings,omitempty"` // unexpected events during the bench
	Subjects    []Subject       `json:"subjects"`           // locks, baselines and self-checks, in display order
	Points      []Point         `json:"points"`             // sets of conditions, in display order
	Pairs       []Pair          `json:"pairs"`              // combinations to measure, each of a lock and a set of conditions
	Thresholds  []Threshold     `json:"thresholds,omitempty"`
}

// Role states why something is measured: as a lock to compare, as a baseline or as a self-check.
type Role string

const (
	Lock     Role = "lock"     // a lock whose results are compared with those of the other locks
	Control  Role = "control"  // a known-broken lock, which the checkers must detect
	Baseline Role = "baseline" // a measurement without a lock, such as the cost of one round trip
	Again    Role = "again"    // a lock that is measured a second time; the results must not differ significantly
	Delayed  Role = "delayed"  // a lock with an added network delay; the results must show the delay
	Stalled  Role = "stalled"  // a lock whose load generator is paused on purpose; the results must show the pause
)

// Subject is something that a bench measures: a lock, a baseline or a self-check.
type Subject struct {
	Name       string            `json:"name"`           // unique name
	Lock       string            `json:"lock,omitempty"` // name in the table of locks; empty for a baseline without a lock
	Deployment string            `json:"deployment,omitempty"`
	Params     map[string]string `json:"params,omitempty"`
	Role       Role              `json:"role"`
	Store      string            `json:"store,omitempty"`
	Server     string            `json:"server,omitempty"`      // product name and version of the store
	Durability string            `json:"durability,omitempty"`  // durability of a write that the store has acknowledged
	ThirdParty bool              `json:"third_party,omitempty"` // whether the lock is a third-party library
	Defect     string            `json:"defect,omitempty"`      // known defect of the lock; a lock with a known defect is not ranked
	Doc        string            `json:"doc,omitempty"`
}

// Arrivals states when clients start iterations. In an iteration, a client acquires, holds and releases a lock.
type Arrivals string

const (
	Closed   Arrivals = "closed"   // each client starts an iteration as soon as the previous iteration ends
	Constant Arrivals = "constant" // iterations start at a fixed interval
	Poisson  Arrivals = "poisson"  // iterations start at random times with a mean rate (Poisson process)
	Burst    Arrivals = "burst"    // iterations start in groups; the mean rate is fixed
)

// Point is one set of test conditions. Only results under the same conditions are compared.
type Point struct {
	ID         string   `json:"id"`      // unique name, valid as a folder name
	Section    string   `json:"section"` // section of the suite that the conditions belong to
	Workload   string   `json:"workload"`
	Clients    int      `json:"clients"`
	Processes  int      `json:"processes"`
	Keys       int      `json:"keys"` // client c uses key c modulo Keys
	HoldNS     int64    `json:"hold_ns"`
	WaitNS     int64    `json:"wait_ns,omitempty"` // timeout of an acquire; 0: none
	TTLNS      int64    `json:"ttl_ns"`
	Arrivals   Arrivals `json:"arrivals"`
	Rate       float64  `json:"rate_per_second,omitempty"` // iterations per second of all clients together; 0 if each client starts an iteration when its previous one ends
	Fault      string   `json:"fault"`                     // name of the injected fault, or "none"
	DurationNS int64    `json:"duration_ns"`               // length of the measured window of each trial
}

// ControlSection is the name of the section with the self-checks and baselines.
const ControlSection = "controls"

// Contended reports whether clients share keys.
func (p Point) Contended() bool { return p.Clients > p.Keys }

// Pair is one combination to measure. Subject is an index into Plan.Subjects, and Point is an index into Plan.Points.
type Pair struct {
	Subject int `json:"subject"`
	Point   int `json:"point"`
}

// TrialName is the file name of a trial's results.
const TrialName = "trial.json"

// Trial is one measurement of one lock, baseline or self-check under one set of conditions.
type Trial struct {
	Version int       `json:"lockbench_trial"`
	Dir     string    `json:"dir"` // slash-separated path of the trial folder within the bench folder: <point>/<subject>/<block>
	Subject string    `json:"subject"`
	Point   string    `json:"point"`
	Block   int       `json:"block"` // number of the block (round of measurements), from 0
	Order   int       `json:"order"` // position of the trial in the block, from 0
	Started time.Time `json:"started"`
	Seed    uint64    `json:"seed"`

	WarmupNS   int64 `json:"warmup_ns"`         // duration of the warm-up before the measured window
	FromNS     int64 `json:"from_ns,omitempty"` // start of the measured window, relative to the start of the history
	MeasuredNS int64 `json:"measured_ns"`
	Steady     bool  `json:"steady"` // whether the rate was steady when the warm-up ended

	Discarded string    `json:"discarded,omitempty"` // reason why the trial was discarded; a discarded trial has no measured values
	Judged    *Judged   `json:"judged,omitempty"`    // verdict on the history; null for a baseline without a history
	Figures   Figures   `json:"figures"`
	Curves    Curves    `json:"curves"`
	Shares    []int     `json:"sections_per_client,omitempty"` // number of critical sections per client in the measured window
	Timeline  *Timeline `json:"timeline,omitempty"`
	Agents    *Agents   `json:"agents,omitempty"` // null unless agents ran the clients
}

// Agents describes the agents that ran the clients of a trial, and what is known about their clocks.
type Agents struct {
	Names         []string `json:"names"`
	UncertaintyNS int64    `json:"uncertainty_ns"` // largest uncertainty of the difference between an agent's clock and the coordinator's
	Grants        int      `json:"grants"`
	Hidden        int      `json:"hidden,omitempty"` // number of grants whose holds were shorter than the uncertainty, so they cannot show a violation
	LateNS        int64    `json:"late_ns"`          // longest delay of an agent's start
}

// Judged is the verdict on the history of a trial.
type Judged struct {
	History    string      `json:"history,omitempty"` // history file, relative to results.json; empty if not stored
	SHA256     string      `json:"sha256"`
	Operations int         `json:"operations"`
	Violated   []Violation `json:"violated,omitempty"`
	Undecided  []string    `json:"undecided,omitempty"` // names of the undecided properties
	Disagree   bool        `json:"disagree,omitempty"`  // whether the two independent checkers (monitor and oracle) disagree
}

// AsExpected reports whether both checkers agree and every violation was expected.
func (j *Judged) AsExpected() bool {
	return !j.Disagree && !slices.ContainsFunc(j.Violated, func(v Violation) bool { return !v.Expected })
}

// Violation is a property that the history of a trial violates.
type Violation struct {
	Property string `json:"property"`
	Text     string `json:"text"`               // description of the violation, in one sentence
	Expected bool   `json:"expected,omitempty"` // whether the lock's author expects the violation
}

// Foreseen returns ", as expected" for an expected violation, and "" otherwise.
func (v Violation) Foreseen() string {
	if !v.Expected {
		return ""
	}
	return ", as expected"
}

// Exclusion reports whether the violation means two holders at once or a damaged resource. The measurements of the
// trial are then invalid.
func (v Violation) Exclusion() bool {
	switch v.Property {
	case "lease-exclusion", "mutual-exclusion", "resource-integrity", "fencing":
		return true
	}
	return false
}

// Unsafe returns the trial's first violation of exclusion, or nil.
func (t *Trial) Unsafe() *Violation {
	if t.Judged == nil {
		return nil
	}
	for i, v := range t.Judged.Violated {
		if v.Exclusion() {
			return &t.Judged.Violated[i]
		}
	}
	return nil
}

// Figures holds a trial's measured values by metric name. A metric without a measurement is absent.
type Figures map[string]float64

// Curves holds histograms of latencies in nanoseconds, by class. Each histogram is a compressed HdrHistogram V2 in
// base64. The classes are uncontended, contended, refused, timed-out, unknown, hand-off, hold and late. The class late
// is the delay of the load generator. A baseline may have the class round-trip.
type Curves map[string]string

// Timeline holds acquire latencies over the course of a trial, for the heat map.
type Timeline struct {
	SliceNS int64     `json:"slice_ns"` // length of a time slice; the first slice starts with the warm-up
	Edges   []int64   `json:"edges_ns"` // latency limits, ascending; row r counts latencies l with Edges[r] <= l < Edges[r+1]
	Counts  [][]int   `json:"counts"`   // number of acquires by time slice, then by latency row
	Faults  []Episode `json:"faults,omitempty"`
}

// Episode is the time interval of an injected fault.
type Episode struct {
	Name   string `json:"name"`
	FromNS int64  `json:"from_ns"`
	ToNS   int64  `json:"to_ns"`
}

// Results is the content of results.json. It is computed only from bench.json and the trial files.
type Results struct {
	Version  int       `json:"lockbench_bench_results"`
	Plan     *Plan     `json:"plan"`
	Withheld []string  `json:"withheld,omitempty"` // failed self-checks; if there are any, the reports show no measured values
	Checks   []Check   `json:"checks"`             // results of the self-checks, in display order
	Rows     []Row     `json:"rows"`               // rows ordered by test conditions, then by lock, as in the plan
	Rankings []Ranking `json:"rankings"`           // rankings, one for each set of conditions
	Trials   []*Trial  `json:"-"`                  // trials in the order of their start
	Dir      string    `json:"-"`
}

// Check is the result of one self-check of the bench.
type Check struct {
	Name string `json:"name"` // name of the self-check: broken-lock, known-delay, stalled-generator or same-lock-twice
	Doc  string `json:"doc"`  // the expected result, in one sentence
	OK   bool   `json:"ok"`
	Seen string `json:"seen"` // observed result, in one sentence
}

// Read reads a bench folder and computes its results. A missing trial is not an error, because the bench may still run.
func Read(dir string) (*Results, error) {
	plan, err := ReadPlan(dir)
	if err != nil {
		return nil, err
	}
	var trials []*Trial
	for _, pair := range plan.Pairs {
		found, err := readTrials(dir, path.Join(plan.Points[pair.Point].ID, plan.Subjects[pair.Subject].Name))
		if err != nil {
			return nil, err
		}
		trials = append(trials, found...)
	}
	r := ResultsOf(plan, trials)
	r.Dir = dir
	return r, nil
}

func readTrials(dir, pair string) ([]*Trial, error) {
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(pair)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var trials []*Trial
	blocks := map[int]string{}
	for _, e := range entries {
		t, err := ReadTrial(dir, path.Join(pair, e.Name()))
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue
		}
		if err != nil {
			return nil, err
		}
		if other, twice := blocks[t.Block]; twice {
			return nil, fmt.Errorf("%s and %s are both of block %d: a trial is counted once", other, t.Dir, t.Block)
		}
		blocks[t.Block] = t.Dir
		trials = append(trials, t)
	}
	return trials, nil
}

// ResultsOf computes the results of a plan from its trials.
func ResultsOf(plan *Plan, trials []*Trial) *Results {
	slices.SortFunc(trials, func(a, b *Trial) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Dir, b.Dir))
	})
	r := &Results{Version: Version, Plan: plan, Checks: []Check{}, Rows: []Row{}, Rankings: []Ranking{}, Trials: trials}
	for pt := range plan.Points {
		for s := range plan.Subjects {
			if slices.Contains(plan.Pairs, Pair{Subject: s, Point: pt}) {
				r.Rows = append(r.Rows, rowOf(&plan.Subjects[s], &plan.Points[pt], trials))
			}
		}
	}
	for i := range r.Rows {
		r.Rows[i].Limited = r.limited(&r.Rows[i])
	}
	r.Rankings = append(r.Rankings, collect(plan.Points, func(p Point) Ranking { return r.ranking(p.ID) })...)
	r.Checks = r.checks()
	r.Withheld = r.withheld()
	return r
}

// Row returns the results of a lock under one set of conditions.
func (r *Results) Row(subject, point string) (*Row, bool) {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Subject == subject && row.Point == point {
			return row, true
		}
	}
	return nil, false
}

// Subject returns the lock, baseline or self-check with the given name.
func (p *Plan) Subject(name string) (Subject, bool) {
	return find(p.Subjects, func(s Subject) bool { return s.Name == name })
}

// Point returns the set of conditions with the given ID.
func (p *Plan) Point(id string) (Point, bool) {
	return find(p.Points, func(pt Point) bool { return pt.ID == id })
}
