package bench

import (
	"slices"
	"time"
)

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
	FromNS     int64 `json:"from_ns,omitempty"` // in the history's time, where the measured window begins
	MeasuredNS int64 `json:"measured_ns"`
	Steady     bool  `json:"steady"` // the warm-up ended because the rate had settled

	Void     string    `json:"void,omitempty"`   // why it does not count
	Judged   *Judged   `json:"judged,omitempty"` // null: there is no history (a floor)
	Figures  Figures   `json:"figures"`
	Curves   Curves    `json:"curves"`
	Shares   []int     `json:"sections_per_client,omitempty"` // critical sections in the window
	Timeline *Timeline `json:"timeline,omitempty"`
}

// Judged is what became of the trial's history when it was judged.
type Judged struct {
	History    string      `json:"history,omitempty"` // file, in the results' folder; empty: it was not kept
	SHA256     string      `json:"sha256"`
	Operations int         `json:"operations"`
	Violated   []Violation `json:"violated,omitempty"`
	Undecided  []string    `json:"undecided,omitempty"` // properties
	Disagree   bool        `json:"disagree,omitempty"`  // monitor and oracle
}

// AsExpected reports whether the history shows nothing that anybody might want to look at.
func (j *Judged) AsExpected() bool {
	return !j.Disagree && !slices.ContainsFunc(j.Violated, func(v Violation) bool { return !v.Expected })
}

// Violation is a property that the history shows to be broken.
type Violation struct {
	Property string `json:"property"`
	Text     string `json:"text"`               // one sentence
	Expected bool   `json:"expected,omitempty"` // by the lock's own table
}

// Exclusion reports whether two held at once, or what is guarded was damaged: then no figure of the trial means anything.
func (v Violation) Exclusion() bool {
	switch v.Property {
	case "lease-exclusion", "mutual-exclusion", "resource-integrity", "fencing":
		return true
	}
	return false
}

// Unsafe is the first violation of exclusion; nil where there is none.
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
	SliceNS int64     `json:"slice_ns"` // of time; the first begins where the drive does, so that faults and warm-up are in it
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
