// Package run makes the report of a run. What goes in is a run folder: run.json, and for each trial a
// history, a verdict and counters. What comes out is results.json for programs, latency.hlog and
// latency.hgrm beside each cell's trials, report/index.html and report/report.md for people, and a
// plain-text table for the terminal.
//
// Nothing here measures or judges: latencies are read from the histories, verdicts from the checker's
// files, so that a report can be made again from an old run, on any machine, byte for byte the same.
package run

import (
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

// resultsVersion is the version of results.json; docs/results.schema.json describes it.
const resultsVersion = 1

// ResultsName is the file of a run folder that holds its results.
const ResultsName = "results.json"

// Results is a run, read and summed up: the content of results.json.
type Results struct {
	Version      int           `json:"lockbench_results"`
	Run          Manifest      `json:"run"`
	Tally        Tally         `json:"tally"`
	Cells        []Observation `json:"cells"`
	Measurements []Measurement `json:"measurements"`
	Sales        []Sale        `json:"sales,omitempty"` // one per judged trial whose clients were buyers of a shop
	Trials       []Trial       `json:"trials"`
	Gaps         []Gap         `json:"gaps"`     // planned, and not in the table, or not whole
	Warnings     []string      `json:"warnings"` // found while the run was read
	Files        []File        `json:"files"`    // of the run folder, but results.json and the report

	disagreements int
}

// Observation is one property of one cell: what was expected of it and what was observed, over all trials.
type Observation struct {
	Lock       string                `json:"lock"`
	Deployment string                `json:"deployment"`
	Workload   string                `json:"workload"`
	Fault      string                `json:"fault"`
	Scenario   string                `json:"scenario,omitempty"`
	Property   string                `json:"property"`
	Expected   histories.Expectation `json:"expected"`
	Because    string                `json:"because"`
	Observed   checker.Observed      `json:"observed"`
	Why        string                `json:"why"` // it is undecided or does not apply
	Score      checker.Score         `json:"score"`
	Weight     string                `json:"weight"`     // the counts that give the finding its weight, in words
	Violations int                   `json:"violations"` // over all trials

	Trials      int `json:"trials"`       // judged, in which it applied
	ViolatedIn  int `json:"violated_in"`  // of those
	UndecidedIn int `json:"undecided_in"` // of those

	Counts   checker.Counts `json:"counts"`   // over all trials
	Evidence []Evidence     `json:"evidence"` // one per trial judged
	Witness  string         `json:"witness"`  // a sentence; empty where nothing was violated

	shown   *checker.Witness // the first
	shownIn string           // its trial
	slack   time.Duration    // that its verdict allowed for
	faults  []checker.Band   // of its trial
}

// Evidence is where a finding can be looked up.
type Evidence struct {
	Dir    string `json:"dir"`    // of the trial, in the run folder
	SHA256 string `json:"sha256"` // of its history
}

// Tally counts observations by score, and what they rest on.
type Tally struct {
	Kept          int `json:"kept"`
	Caught        int `json:"caught"`
	Broken        int `json:"broken"`
	Missed        int `json:"missed"`
	Undecided     int `json:"undecided"` // of those that were expected to hold
	Measured      int `json:"measured"`
	Trials        int `json:"trials"` // judged
	Void          int `json:"void"`
	Operations    int `json:"operations"`
	Disagreements int `json:"disagreements"` // between monitor and oracle: faults of lockbench
}

// Gap is something planned that the results lack.
type Gap struct {
	Dir    string `json:"dir"` // of a cell or of a trial
	Reason string `json:"reason"`
}
