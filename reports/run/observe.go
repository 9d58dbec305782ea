// Package run makes the report of a run. It reads a run folder: run.json, and for each trial a history, a verdict and counters.
// Build returns a Results and writes results.json, the latency histograms (latency.hlog and latency.hgrm), and the reports
// report/index.html and report/report.md. Results.Text writes the table for the terminal.
//
// The same run folder always gives the same report, byte for byte.
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

// observe returns one observation for each property that was judged or has an expectation. Each observation merges all trials.
// Properties without a verdict come last.
func observe(c Cell, trials []*trialRead) []Observation {
	var judged, expected []string
	for _, t := range trials {
		for _, f := range t.verdict.Findings {
			judged = append(judged, f.Property)
		}
		for _, e := range t.header.Expectations {
			expected = append(expected, e.Property)
		}
	}
	var all []Observation
	for _, property := range unique(slices.Concat(judged, expected)) {
		all = append(all, merge(c, property, trials))
	}
	return all
}

// merge combines the verdicts of all trials on one property into an observation. The result is violated if any trial
// violates the property. Otherwise it is undecided if any trial is undecided.
func merge(c Cell, property string, trials []*trialRead) Observation {
	e := trials[0].header.Expectation(property)
	o := Observation{
		Lock: c.Lock, Deployment: c.Deployment, Workload: c.Workload, Fault: cmp.Or(c.Fault, "none"),
		Scenario: c.Scenario, Property: property, Expected: e.Expected, Because: e.Because,
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

// explain sets the explanation, the evidence and the example of the observation. It uses only trials with the same verdict as
// the observation.
func (o *Observation) explain(trials []*trialRead) {
	var whys, weights []string
	for _, t := range trials {
		f := t.verdict.Finding(o.Property)
		if f.Observed != o.Observed {
			continue
		}
		whys, weights = append(whys, f.Why), append(weights, f.Evidence)
		if o.Example == "" && f.Observed == checker.Violated && f.Witness != nil {
			o.Example, o.shown = f.Witness.Sentence, f.Witness
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

// tallyOf counts the observations by result, the trials and the operations. If observations share trials, their
// operations are counted once.
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
		case Discarded:
			t.Discarded++
		}
	}
	return t
}

// Of returns a pointer to the field of t that counts the given result.
func (t *Tally) Of(r checker.Result) *int {
	return []*int{checker.NoExpectation: &t.Observed, checker.Pass: &t.Pass, checker.XFail: &t.XFail, checker.Fail: &t.Fail,
		checker.XPass: &t.XPass, checker.Inconclusive: &t.Inconclusive}[r]
}

// Expected returns the number of observations with an expectation.
func (t *Tally) Expected() int { return t.Pass + t.XFail + t.Fail + t.XPass + t.Inconclusive }

// inTable reports whether an observation has an expectation or shows a violation.
func (o *Observation) inTable() bool {
	return o.Expected != histories.Unspecified || o.Observed == checker.Violated
}

// Where returns the scenario, the workload and the fault as text.
func (o Observation) Where() string { return cellWords(o.Scenario, o.Workload, o.Fault) }

// Where returns the scenario, the workload and the fault as text.
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

// Results holds the content of results.json: the results of a run and of each trial.
type Results struct {
	Version      int           `json:"lockbench_results"`
	Run          Manifest      `json:"run"`
	Tally        Tally         `json:"tally"`
	Cells        []Observation `json:"cells"`
	Measurements []Measurement `json:"measurements"`
	Sales        []Sale        `json:"sales,omitempty"` // one element for each judged trial of a flash sale
	Trials       []Trial       `json:"trials"`
	Gaps         []Gap         `json:"gaps"`     // planned trials that have no results
	Warnings     []string      `json:"warnings"` // problems found while reading the run folder
	Files        []File        `json:"files"`    // files of the run folder, except results.json and the report

	disagreements int
}

// Observation holds the expectation and the result for one property of a lock in one workload under one fault, over all
// trials.
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
	Why        string             `json:"why"` // reason why the property is undecided or not applicable
	Result     checker.Result     `json:"result"`
	Weight     string             `json:"evidence"`   // evidence in words, such as the number of hand-offs
	Violations int                `json:"violations"` // number of violations in all trials

	Trials      int `json:"trials"`       // judged trials in which the property applied
	ViolatedIn  int `json:"violated_in"`  // trials in which the property is violated
	UndecidedIn int `json:"undecided_in"` // trials in which the property is undecided

	Counts   checker.Counts `json:"counts"`    // number of operations, faults and other events in all trials
	Evidence []Evidence     `json:"histories"` // folder and checksum of each judged trial
	Example  string         `json:"example"`   // description of the first violation; empty without a violation

	shown   *checker.Witness // first violation, which the report shows
	shownIn string           // folder of the trial with the shown violation
	slack   time.Duration    // allowance for clock error in the trial with the shown violation
	faults  []checker.Band   // faults injected in the trial with the shown violation
}

// Evidence identifies a trial by the folder of the trial and the checksum of the history.
type Evidence struct {
	Dir    string `json:"dir"`    // folder of the trial, relative to the run folder
	SHA256 string `json:"sha256"` // checksum of the history file
}

// Tally counts the observations of a run by result, such as pass or fail. It also counts the trials and operations.
type Tally struct {
	Pass          int `json:"pass"`
	XFail         int `json:"xfail"`
	Fail          int `json:"fail"`
	XPass         int `json:"xpass"`
	Inconclusive  int `json:"inconclusive"`
	Observed      int `json:"observed"` // number of observations without an expectation
	Trials        int `json:"trials"`   // number of judged trials
	Discarded     int `json:"discarded"`
	Operations    int `json:"operations"`
	Disagreements int `json:"disagreements"` // disagreements between the two checkers, monitor and oracle; each is a bug of lockbench
}

// Gap identifies missing results: those of one trial, or of all trials in a planned folder.
type Gap struct {
	Dir    string `json:"dir"` // folder of the trial, or the folder that contains all the trials
	Reason string `json:"reason"`
}
