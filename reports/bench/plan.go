// Package bench is the report of a bench. It reads a bench folder (a Plan and its Trials) and never measures; Results
// are the figures over the trials, the rankings and the bench's controls. Page, Markdown and Text show them, Comparisons
// compare two runs or two locks, and Gate holds a run to thresholds.
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

// Version is the version of the files that this package writes, and the newest that it reads.
const Version = 2

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
	Lock     Role = "lock"     // a candidate
	Control  Role = "control"  // it is broken: the judge must say so
	Baseline Role = "baseline" // what the harness, a round trip or a loop without a lock's care costs at the least
	Again    Role = "again"    // a lock a second time: nothing may tell the two apart
	Delayed  Role = "delayed"  // a lock behind a network with a known delay, which must be found
	Stalled  Role = "stalled"  // a generator that stalls on purpose, which must be noticed
)

// Subject is a lock, a floor or a control.
type Subject struct {
	Name       string            `json:"name"`           // tells subjects apart
	Lock       string            `json:"lock,omitempty"` // of the table; empty: a floor that is none
	Deployment string            `json:"deployment,omitempty"`
	Params     map[string]string `json:"params,omitempty"`
	Role       Role              `json:"role"`
	Store      string            `json:"store,omitempty"`
	Server     string            `json:"server,omitempty"`      // product and version
	Durability string            `json:"durability,omitempty"`  // what has become of a write when it is acknowledged
	ThirdParty bool              `json:"third_party,omitempty"` // a third-party library
	Defect     string            `json:"defect,omitempty"`      // a known defect: the lock is not ranked
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
	Rate       float64  `json:"rate_per_second,omitempty"` // of all clients together; 0 if they are closed
	Fault      string   `json:"fault"`                     // "none" if nothing is injected
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

// TrialName is the file in a trial's folder that holds its figures.
const TrialName = "trial.json"

// Trial is one subject at one point in one block: the unit of all statistics.
type Trial struct {
	Version int       `json:"lockbench_trial"`
	Dir     string    `json:"dir"` // in the results' folder, with slashes: <point>/<subject>/<block>
	Subject string    `json:"subject"`
	Point   string    `json:"point"`
	Block   int       `json:"block"` // from 0
	Order   int       `json:"order"` // within its block, from 0
	Started time.Time `json:"started"`
	Seed    uint64    `json:"seed"`

	WarmupNS   int64 `json:"warmup_ns"`         // before the measured window
	FromNS     int64 `json:"from_ns,omitempty"` // start of the measured window, in the history's time
	MeasuredNS int64 `json:"measured_ns"`
	Steady     bool  `json:"steady"` // the warm-up ended because the rate had settled

	Discarded string    `json:"discarded,omitempty"` // why it does not count
	Judged    *Judged   `json:"judged,omitempty"`    // null: there is no history (a floor)
	Figures   Figures   `json:"figures"`
	Curves    Curves    `json:"curves"`
	Shares    []int     `json:"sections_per_client,omitempty"` // critical sections in the window
	Timeline  *Timeline `json:"timeline,omitempty"`
}

// Judged is the verdict of the trial's history.
type Judged struct {
	History    string      `json:"history,omitempty"` // file, in the results' folder; empty: it was not kept
	SHA256     string      `json:"sha256"`
	Operations int         `json:"operations"`
	Violated   []Violation `json:"violated,omitempty"`
	Undecided  []string    `json:"undecided,omitempty"` // properties
	Disagree   bool        `json:"disagree,omitempty"`  // monitor and oracle
}

// AsExpected reports whether monitor and oracle agree and every violation is expected.
func (j *Judged) AsExpected() bool {
	return !j.Disagree && !slices.ContainsFunc(j.Violated, func(v Violation) bool { return !v.Expected })
}

// Violation is a property that the history shows to be broken.
type Violation struct {
	Property string `json:"property"`
	Text     string `json:"text"`               // one sentence
	Expected bool   `json:"expected,omitempty"` // by the lock's own table
}

// Foreseen returns words for a violation that the lock's own table expects; none for another.
func (v Violation) Foreseen() string {
	if !v.Expected {
		return ""
	}
	return ", as its own table says"
}

// Exclusion reports whether two clients held the lock at once, or the guarded resource was damaged: then the figures of the
// trial mean nothing.
func (v Violation) Exclusion() bool {
	switch v.Property {
	case "lease-exclusion", "mutual-exclusion", "resource-integrity", "fencing":
		return true
	}
	return false
}

// Unsafe returns the first violation of exclusion; nil if there is none.
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

// Figures are the values of a trial's window by metric. What could not be measured is absent, not 0.
type Figures map[string]float64

// Curves are HDR histograms of nanoseconds (version 2, compressed, base64) by class: uncontended, contended, refused,
// timed-out, unknown, hand-off, hold, late (how late the generator was) and, of floors, round-trip.
type Curves map[string]string

// Timeline is how acquire latency went over the trial, for the heat map.
type Timeline struct {
	SliceNS int64     `json:"slice_ns"` // of time; the first begins with the warm-up
	Edges   []int64   `json:"edges_ns"` // of latency: row r counts acquires from Edges[r] on, and below Edges[r+1]
	Counts  [][]int   `json:"counts"`   // by slice, then by row
	Faults  []Episode `json:"faults,omitempty"`
}

// Episode is when something was wrong on purpose.
type Episode struct {
	Name   string `json:"name"`
	FromNS int64  `json:"from_ns"`
	ToNS   int64  `json:"to_ns"`
}

// Results is results.json, a function of bench.json and the trials alone.
type Results struct {
	Version  int       `json:"lockbench_bench_results"`
	Plan     *Plan     `json:"plan"`
	Withheld []string  `json:"withheld,omitempty"` // why the figures are not shown: the controls that failed
	Checks   []Check   `json:"checks"`             // the bench's controls, in display order
	Rows     []Row     `json:"rows"`               // by point, then by subject, as the plan has them
	Rankings []Ranking `json:"rankings"`           // by point
	Trials   []*Trial  `json:"-"`                  // in the order in which they ran
	Dir      string    `json:"-"`
}

// Check is one of the controls that every bench carries.
type Check struct {
	Name string `json:"name"` // broken-lock, known-delay, stalled-generator, same-lock-twice
	Doc  string `json:"doc"`  // what must come out, in one sentence
	OK   bool   `json:"ok"`
	Seen string `json:"seen"` // what came out, in one sentence with its figures
}

// Read reads a bench folder and computes its results. A missing trial is no error: the bench may still run.
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

// ResultsOf returns what follows from the plan and the trials.
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

// Row finds the row of a subject at a point.
func (r *Results) Row(subject, point string) (*Row, bool) {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Subject == subject && row.Point == point {
			return row, true
		}
	}
	return nil, false
}

// Subject finds a subject of the plan by its name.
func (p *Plan) Subject(name string) (Subject, bool) {
	return find(p.Subjects, func(s Subject) bool { return s.Name == name })
}

// Point finds a point of the plan by its ID.
func (p *Plan) Point(id string) (Point, bool) {
	return find(p.Points, func(pt Point) bool { return pt.ID == id })
}
