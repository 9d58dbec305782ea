// Package matrix makes the pages of third-party lock libraries. A Result holds what lockbench found for one version of a
// library in one setting, and is kept as a JSON file. Write takes all results of a folder and writes the matrix of libraries
// and properties, a page and a badge for each library, and the track record of known defects.
//
// The same results always give the same pages, byte for byte.
package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/figures"
	"lockbench/reports/run"
)

// Format is the version of the format of the JSON files.
const Format = 1

// Result holds what lockbench found for one version of a library in one setting.
type Result struct {
	Format   int       `json:"lockbench_library"`
	Library  string    `json:"library"`
	Language string    `json:"language"`
	Package  string    `json:"package"`
	Store    string    `json:"store"`
	Version  string    `json:"version"`
	Kind     string    `json:"kind"`             // "bad", "fixed" or "current"; "": a version that the library's description does not list
	Latest   bool      `json:"latest,omitempty"` // whether it was the newest release that the library's description lists
	Setting  string    `json:"setting"`          // name of the lock in histories and cases
	About    string    `json:"about,omitempty"`
	Default  bool      `json:"default,omitempty"` // whether the setting is the default of the library
	Defect   *Defect   `json:"defect,omitempty"`  // for a bad version, and for the version that fixed it
	Profile  string    `json:"profile"`           // name and version of the profile, such as quick/1
	Measured time.Time `json:"measured"`
	Seconds  float64   `json:"seconds"`
	NotRun   string    `json:"not_run,omitempty"` // why nothing was run; "": it was run

	Packages        []string         `json:"packages,omitempty"` // that were installed, as name:version
	Environment     run.Environment  `json:"environment"`
	Steps           []Step           `json:"steps,omitempty"`
	Questions       []Question       `json:"questions,omitempty"` // in the order of properties.All
	Counterexamples []Counterexample `json:"counterexamples,omitempty"`
	Figures         *Figures         `json:"figures,omitempty"`
	Histories       []run.Evidence   `json:"histories,omitempty"` // of the trials of the step scenes
}

// Defect is a known defect of a library.
type Defect struct {
	Bad       string `json:"bad"`
	Fixed     string `json:"fixed"`
	Summary   string `json:"summary"`
	Situation string `json:"situation"`
	Question  string `json:"question"` // property that the defect violates; "none": no property covers it
}

// Names of the steps.
const (
	Scenes = "scenes" // lockbench verify with its default workloads and faults
	Search = "search" // lockbench explore on real servers
	Known  = "known"  // the scene or the case that shows the known defect of the bad version
	Repeat = "repeat" // a scene again, because a slow machine can violate the property; the property and the scene follow in the name
)

// Step is one command that was run.
type Step struct {
	Name     string   `json:"name"`
	Command  string   `json:"command"`
	Exit     int      `json:"exit"`
	Seconds  float64  `json:"seconds"`
	Violated []string `json:"violated,omitempty"` // properties that were expected to hold and were violated
	Problem  string   `json:"problem,omitempty"`  // why the step has no result
}

// Question counts the checks of one property. A check is a combination of workload and fault in scenes, or a case of the search, in
// which the property was expected to hold.
type Question struct {
	Property     string   `json:"property"`
	Held         int      `json:"held"`
	Violated     int      `json:"violated"`
	Inconclusive int      `json:"inconclusive"`
	Unconfirmed  int      `json:"unconfirmed,omitempty"` // violations that did not show again
	In           []string `json:"in,omitempty"`          // where it was violated
}

// Counterexample is a case that shows a violation.
type Counterexample struct {
	Property string `json:"property"`
	File     string `json:"file"`    // case file, in the folder of the library
	Picture  string `json:"picture"` // timeline, in the folder of the library
	Shown    int    `json:"shown"`   // number of repeated trials that showed the violation again
	Trials   int    `json:"trials"`
	Command  string `json:"command"`
}

// Figures holds the figures of the workload "counter" without a fault. They come from a short trial.
type Figures struct {
	Clients   int                  `json:"clients"`
	Goodput   float64              `json:"goodput_per_second"`
	Jain      float64              `json:"jain"`
	LongestNS int64                `json:"longest_wait_ns"`
	Granted   figures.Distribution `json:"granted_contended"`
	HandOff   figures.Distribution `json:"hand_off"`
}

// State is the answer to a question.
type State string

// The states, from the worst.
const (
	Fail         State = "FAIL"
	Inconclusive State = "inconclusive"
	NotRun       State = "not run"
	Unsupported  State = "unsupported"
	Pass         State = "pass"
)

// mostInconclusive is the largest part of the checks of a property without a verdict with which the property can still pass.
const mostInconclusive = 0.1

// State returns the state of a question. A property fails if it was violated. It is inconclusive if a violation did not show
// again, or if more than a tenth of the checks have no verdict.
func (q Question) State() State {
	switch checks := q.Held + q.Violated + q.Inconclusive; {
	case q.Violated > 0:
		return Fail
	case q.Unconfirmed > 0 || float64(q.Inconclusive) > mostInconclusive*float64(checks):
		return Inconclusive
	case checks == 0:
		return Unsupported
	}
	return Pass
}

// State returns the state of a property. A property that no check expected to hold is unsupported, unless a step has no result or the
// scenes were not run.
func (r *Result) State(property string) State {
	for _, q := range r.Questions {
		if q.Property == property {
			return q.State()
		}
	}
	if r.NotRun != "" || r.Step(Scenes) == nil || slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Problem != "" }) {
		return NotRun
	}
	return Unsupported
}

// Tally returns the number of properties that passed, and the number of those that apply.
func (r *Result) Tally() (passed, asked int) {
	for _, q := range r.Questions {
		switch q.State() {
		case Pass:
			passed, asked = passed+1, asked+1
		case Fail, Inconclusive:
			asked++
		}
	}
	return passed, asked
}

// Failed returns the properties that failed.
func (r *Result) Failed() []string {
	var failed []string
	for _, q := range r.Questions {
		if q.State() == Fail {
			failed = append(failed, q.Property)
		}
	}
	return failed
}

// Step returns the step with a name, or nil.
func (r *Result) Step(name string) *Step {
	if i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Name == name }); i >= 0 {
		return &r.Steps[i]
	}
	return nil
}

// FileName returns the name of the JSON file, relative to the folder of all results.
func (r *Result) FileName() string { return filepath.Join(r.Library, r.stem()+".json") }

// stem returns the beginning of the names of all files of a result.
func (r *Result) stem() string {
	if r.Default {
		return r.Version
	}
	return r.Version + "-" + r.Setting
}

// question returns the counts of a property and adds them if they are missing.
func (r *Result) question(property string) *Question {
	for i := range r.Questions {
		if r.Questions[i].Property == property {
			return &r.Questions[i]
		}
	}
	r.Questions = append(r.Questions, Question{Property: property})
	return &r.Questions[len(r.Questions)-1]
}

// Add adds the results of a run to the questions, and its histories and figures. It returns the properties that were violated.
// A property counts if it was expected to hold. The property asked counts in any case: that of a known defect, or "".
func (r *Result) Add(of *run.Results, asked string) (violated []string) {
	for _, o := range of.Cells {
		if o.Expected != histories.ToHold && (o.Expected != histories.Unspecified || o.Property != asked) {
			continue
		}
		q := r.question(o.Property)
		switch o.Observed {
		case checker.Held:
			q.Held++
		case checker.Undecided:
			q.Inconclusive++
		case checker.Violated:
			q.Violated++
			q.In = append(q.In, o.Where())
			violated = append(violated, o.Property)
		}
		if q.Held+q.Violated+q.Inconclusive == 0 { // the property does not apply
			r.Questions = r.Questions[:len(r.Questions)-1]
		}
	}
	for _, t := range of.Trials {
		if t.State == run.Judged {
			r.Histories = append(r.Histories, run.Evidence{Dir: t.Dir, SHA256: t.SHA256})
		}
	}
	for _, m := range of.Measurements {
		if m.Workload == "counter" && m.Fault == "none" {
			r.Figures = &Figures{m.Clients, m.Goodput.Median, m.Jain.Median, m.Longest.NS, m.Contended, m.HandOff}
		}
	}
	slices.Sort(violated)
	return slices.Compact(violated)
}

// Withdraw makes a violation that Add has added one that did not show again.
func (r *Result) Withdraw(o run.Observation) {
	q := r.question(o.Property)
	i := slices.Index(q.In, o.Where())
	if i < 0 {
		return
	}
	q.In = slices.Delete(q.In, i, i+1)
	q.Violated--
	q.Unconfirmed++
	if s := r.Step(Scenes); s != nil && q.Violated == 0 {
		s.Violated = slices.DeleteFunc(s.Violated, func(property string) bool { return property == o.Property })
	}
}

// Searched holds how often a search checked a property that was expected to hold.
type Searched struct {
	Property          string
	Checked, Violated int
	Shown             bool // whether a violation showed again
}

// AddSearched adds the result of a search to the questions.
func (r *Result) AddSearched(s Searched) {
	if s.Checked == 0 {
		return
	}
	q := r.question(s.Property)
	q.Held += s.Checked - s.Violated
	if s.Shown {
		q.Violated += s.Violated
	} else {
		q.Unconfirmed += s.Violated
	}
}

// Read returns all results in a folder, sorted by language, library, version and setting.
func Read(dir string) ([]*Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*Result
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := &Result{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if r.Format == Format { // cases and badges are other JSON files in the same folder
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Result) int {
		return cmp.Or(strings.Compare(a.Language, b.Language), strings.Compare(a.Library, b.Library), compareVersions(a.Version, b.Version),
			rankDefault(a)-rankDefault(b), strings.Compare(a.Setting, b.Setting))
	})
	return all, nil
}

// rankDefault puts the default setting before the others.
func rankDefault(r *Result) int {
	if r.Default {
		return 0
	}
	return 1
}

// compareVersions compares versions by their numbers, so that 3.9 is before 3.11.
func compareVersions(a, b string) int {
	return slices.CompareFunc(parts(a), parts(b), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}

// parts returns the numbers and words of a version, without leading zeros.
func parts(version string) []string {
	fields := strings.FieldsFunc(version, func(c rune) bool { return strings.ContainsRune(".-+", c) })
	for i := range fields {
		fields[i] = strings.TrimLeft(fields[i], "0")
	}
	return fields
}
