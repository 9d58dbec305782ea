// Package run makes the report of a run. What goes in is a run folder: run.json, and for each trial a
// history, a verdict and counters. What comes out is results.json for programs, latency.hlog and
// latency.hgrm beside each cell's trials, report/index.html and report/report.md for people, and a
// plain-text table for the terminal.
//
// Nothing here measures or judges: latencies are read from the histories, verdicts from the checker's
// files, so that a report can be made again from an old run, on any machine, byte for byte the same.
package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
)

// observe merges what the judged trials of a cell say: one observation per property, in the order of the
// verdicts, then what was claimed and never judged.
func observe(c Cell, trials []*trialRead) []Observation {
	var judged, claimed []string
	for _, t := range trials {
		for _, f := range t.verdict.Findings {
			judged = append(judged, f.Property)
		}
		for _, claim := range t.header.Expectations {
			claimed = append(claimed, claim.Property)
		}
	}
	var all []Observation
	for _, property := range unique(slices.Concat(judged, claimed)) {
		all = append(all, merge(c, property, trials))
	}
	return all
}

// merge takes the worst of the trials: violated if any is, else undecided if any is, else held if any did.
func merge(c Cell, property string, trials []*trialRead) Observation {
	claim := trials[0].header.Expectation(property)
	o := Observation{
		Lock: c.Lock, Deployment: c.Deployment, Workload: c.Workload, Fault: cmp.Or(c.Fault, "none"),
		Scenario: c.Scenario, Property: property, Expected: claim.Expected, Because: claim.Because,
		Observed: checker.NotApplicable,
	}
	for _, t := range trials {
		f := t.verdict.Finding(property)
		o.Evidence = append(o.Evidence, Evidence{Dir: t.Dir, SHA256: t.SHA256})
		o.Violations += f.Violations
		o.Counts = sum(o.Counts, t.verdict.Counts)
		switch f.Observed {
		case checker.Violated:
			o.ViolatedIn++
		case checker.Undecided:
			o.UndecidedIn++
		}
		if f.Observed != checker.NotApplicable {
			o.Trials++
		}
		if gravity(f.Observed) > gravity(o.Observed) {
			o.Observed = f.Observed
		}
	}
	o.explain(trials)
	o.Result = checker.ResultOf(o.Expected, o.Observed)
	return o
}

// explain takes over the reasons of the trials that decided.
func (o *Observation) explain(trials []*trialRead) {
	var whys, weights []string
	for _, t := range trials {
		f := t.verdict.Finding(o.Property)
		if f.Observed != o.Observed {
			continue
		}
		whys, weights = append(whys, f.Why), append(weights, f.Evidence)
		if o.Witness == "" && f.Observed == checker.Violated && f.Witness != nil {
			o.Witness, o.shown = f.Witness.Story, f.Witness
			o.shownIn, o.slack, o.faults = t.Dir, t.verdict.Slack, t.verdict.Faults
		}
	}
	o.Why, o.Weight = firstOf(whys), firstOf(weights)
}

func firstOf(texts []string) string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	if different := unique(texts); len(different) < 2 {
		return strings.Join(different, "")
	}
	return fmt.Sprintf("%s (and likewise in %s)", texts[0], format.Plural(len(texts)-1, "other trial"))
}

func gravity(o checker.Observed) int {
	return slices.Index([]checker.Observed{checker.NotApplicable, checker.Held, checker.Undecided, checker.Violated}, o)
}

func sum(a, b checker.Counts) checker.Counts {
	return checker.Counts{
		Operations: a.Operations + b.Operations,
		Grants:     a.Grants + b.Grants,
		Refused:    a.Refused + b.Refused,
		Unknown:    a.Unknown + b.Unknown,
		HandOffs:   a.HandOffs + b.HandOffs,
		Expiries:   a.Expiries + b.Expiries,
		Takeovers:  a.Takeovers + b.Takeovers,

		Faults:      a.Faults + b.Faults,
		Losses:      a.Losses + b.Losses,
		FalseLosses: a.FalseLosses + b.FalseLosses,
		Stale:       a.Stale + b.Stale,
	}
}

// tallyOf counts the results. Operations are counted once per cell, not once per property.
func tallyOf(r *Results) Tally {
	t := Tally{Disagreements: r.disagreements}
	seen := map[string]bool{}
	for _, o := range r.Cells {
		*t.Of(o.Result)++
		if dir := o.Evidence[0].Dir; !seen[dir] {
			seen[dir] = true
			t.Operations += o.Counts.Operations
		}
	}
	for _, trial := range r.Trials {
		switch trial.State {
		case Judged:
			t.Trials++
		case Void:
			t.Void++
		}
	}
	return t
}

// Of returns the count of a result.
func (t *Tally) Of(r checker.Result) *int {
	return []*int{checker.NoExpectation: &t.Observed, checker.Pass: &t.Pass, checker.XFail: &t.XFail, checker.Fail: &t.Fail,
		checker.XPass: &t.XPass, checker.Inconclusive: &t.Inconclusive}[r]
}

// Expected returns how many observations have an expectation.
func (t *Tally) Expected() int { return t.Pass + t.XFail + t.Fail + t.XPass + t.Inconclusive }

// inTable reports whether an observation is in the main table: it has an expectation, or it is a violation.
func (o *Observation) inTable() bool {
	return o.Expected != histories.Unspecified || o.Observed == checker.Violated
}

// Where returns the cell in words.
func (o Observation) Where() string { return cellWords(o.Scenario, o.Workload, o.Fault) }

func (m *Measurement) Where() string { return cellWords(m.Scenario, m.Workload, m.Fault) }

func cellWords(scenario, workload, fault string) string {
	if scenario != "" {
		workload = scenario + ": " + workload
	}
	if fault == "none" {
		return workload
	}
	return workload + " + " + strings.ReplaceAll(fault, "+", " + ")
}

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
	Lock       string             `json:"lock"`
	Deployment string             `json:"deployment"`
	Workload   string             `json:"workload"`
	Fault      string             `json:"fault"`
	Scenario   string             `json:"scenario,omitempty"`
	Property   string             `json:"property"`
	Expected   histories.Expected `json:"expected"`
	Because    string             `json:"because"`
	Observed   checker.Observed   `json:"observed"`
	Why        string             `json:"why"` // it is undecided or does not apply
	Result     checker.Result     `json:"result"`
	Weight     string             `json:"weight"`     // the counts that give the finding its weight, in words
	Violations int                `json:"violations"` // over all trials

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

// Tally counts observations by result, and what they rest on.
type Tally struct {
	Pass          int `json:"pass"`
	XFail         int `json:"xfail"`
	Fail          int `json:"fail"`
	XPass         int `json:"xpass"`
	Inconclusive  int `json:"inconclusive"`
	Observed      int `json:"observed"` // without an expectation
	Trials        int `json:"trials"`   // judged
	Void          int `json:"discarded"`
	Operations    int `json:"operations"`
	Disagreements int `json:"disagreements"` // between monitor and oracle: faults of lockbench
}

// Gap is something planned that the results lack.
type Gap struct {
	Dir    string `json:"dir"` // of a cell or of a trial
	Reason string `json:"reason"`
}
