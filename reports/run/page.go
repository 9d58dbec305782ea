package run

import (
	"embed"
	"fmt"
	"html/template"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/checker/oracle"
	"lockbench/histories"
	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

//go:embed templates
var templates embed.FS

// page holds the data of the HTML and Markdown templates, as formatted text.
type page struct {
	*Results
	Verdict    html.Verdict
	Overview   overview
	Evidence   string
	Unmet      []check        // expectations that were not met
	Failures   []example      // violations of properties expected to hold
	Examples   []exampleGroup // violations of all other properties
	Groups     []group
	Workloads  []workload
	Stores     []storeRow
	Common     string // workload in which the stores are compared
	Recoveries []recoveryRow
	Shops      []saleRow
	Simulated  bool
	Emulated   bool // whether the servers were emulators, not real stores
	AllFiles   []File
	ResultsSum string    // checksum of results.json
	Violations []example // all violations that are listed in the fields Failures and Examples
}

// example is a violation with its operations and timeline.
type example struct {
	ID       string
	Label    string
	Observed Observation
	Drawing  template.HTML
	Ops      []histories.Op
	Dir      string
	Viewer   string // file name of the Porcupine visualisation; empty: none
	viewer   []byte
}

// exampleGroup holds the violations of one property. Unexpected violations come first.
type exampleGroup struct {
	Property string
	Examples []example
	Open     bool // whether to show the first example unfolded
}

// Labels returns the names of the locks in the group, joined into one string.
func (g exampleGroup) Labels() string {
	var names []string
	for _, e := range g.Examples {
		names = append(names, e.Label)
	}
	return format.Joined(unique(names))
}

type workload struct {
	ID     string
	Name   string
	Setup  string
	Plain  []figureRow // measurements in trials without a fault
	Faulty []figureRow
	Chart  charts.Chart
}

// newPage returns the data of the page and of the Markdown report. The parameter named results holds the path, size and
// checksum of results.json.
func newPage(r *Results, results File) (*page, error) {
	p := &page{
		Results: r, Verdict: r.verdict(), Evidence: r.evidence(), Overview: r.overview(), Groups: r.groups(), Workloads: r.workloads(),
		Recoveries: r.recoveries(), Shops: r.saleRows(), Emulated: r.Run.Servers == Embedded,
		Simulated: slices.ContainsFunc(r.Measurements, func(m Measurement) bool { return m.Simulated }),
		AllFiles:  append(slices.Clone(r.Files), results), ResultsSum: results.SHA256,
	}
	p.Stores, p.Common = r.stores(), r.commonWorkload()
	examples, err := r.examples()
	p.Violations = examples
	p.Failures = slices.DeleteFunc(slices.Clone(examples), func(e example) bool { return e.Observed.Result != checker.Fail })
	for _, of := range grouped(examples[len(p.Failures):], func(e *example) string { return e.Observed.Property }) {
		unexpected := r.urgency(of[0].Observed) == unexpectedly
		first := len(p.Failures)+len(p.Examples) == 0 // unfold the group with the first timeline of the page
		p.Examples = append(p.Examples, exampleGroup{Property: of[0].Observed.Property, Examples: of, Open: first || unexpected})
	}
	for _, g := range p.Groups {
		for _, c := range g.Main {
			if c.Gravest.failed() {
				c.Label += " in " + c.Gravest.Where()
				p.Unmet = append(p.Unmet, c)
			}
		}
	}
	return p, err
}

// files renders the report: the page, the Markdown report without drawings, and the Porcupine visualisations of the examples.
// If the run has scenarios, it also renders scenarios.md, and if cells have many trials, rates.md.
func (p *page) files() (files map[string][]byte, err error) {
	files = map[string][]byte{}
	for _, e := range p.Violations {
		if e.Viewer != "" {
			files[e.Viewer] = e.viewer
		}
	}
	if files["index.html"], err = html.Page(templates, p.funcs(), p, "templates/page.html.tmpl"); err != nil {
		return nil, err
	}
	if files["report.md"], err = html.Markdown(templates, p.funcs(), p, "markdown", "templates/report.md.tmpl"); err != nil {
		return nil, err
	}
	if len(p.Run.Scenarios) > 0 {
		if files["scenarios.md"], err = html.Markdown(templates, p.funcs(), p, "scenarios", "templates/scenarios.md.tmpl"); err != nil {
			return nil, err
		}
	}
	if p.Repeated() {
		files["rates.md"], err = html.Markdown(templates, p.funcs(), p, "rates", "templates/rates.md.tmpl")
	}
	return files, err
}

// Properties returns the properties that applied to at least one lock. They are the columns of a table.
func (p *page) Properties() []string {
	var names []string
	for _, o := range p.Cells {
		if o.Observed != checker.NotApplicable {
			names = append(names, o.Property)
		}
	}
	return unique(names)
}

// examples returns the violations with recorded operations, each with a drawing. The most urgent violation comes first.
func (r *Results) examples() ([]example, error) {
	label := r.Run.labels()
	violated := slices.DeleteFunc(slices.Clone(r.Cells), func(o Observation) bool { return o.shown == nil })
	slices.SortStableFunc(violated, func(a, b Observation) int { return r.urgency(a) - r.urgency(b) })
	var all []example
	for i, o := range violated {
		e := example{ID: o.ExampleID(), Label: label(o.Lock, o.Deployment), Observed: o, Ops: o.shown.Ops, Dir: o.shownIn,
			Drawing: drawExample(o.ExampleID(), o.Property, o.shown, o.faults)}
		page, ok, err := oracle.Viewer(o.Property, o.shown, o.slack)
		if err != nil {
			return nil, err
		}
		if ok {
			e.Viewer, e.viewer = fmt.Sprintf("example-%03d.html", i+1), page
		}
		all = append(all, e)
	}
	return all, nil
}

// The urgency of a violation, from highest to lowest.
const (
	failed         = iota // the property was expected to hold
	unexpectedly          // the property has no expectation
	leaseExclusion        // expected violation of the property lease-exclusion
	asExpected
	knownBroken // expected violation of a known-broken lock
)

func (r *Results) urgency(o Observation) int {
	switch {
	case o.Result == checker.Fail:
		return failed
	case r.isControl(o.Lock):
		return knownBroken
	case o.Result == checker.NoExpectation:
		return unexpectedly
	case o.Property == "lease-exclusion":
		return leaseExclusion
	}
	return asExpected
}

// ExampleID returns an HTML id made of the trial and the property. Characters that are invalid in an id are replaced by their
// hexadecimal codes.
func (o Observation) ExampleID() string {
	return notInID.ReplaceAllStringFunc("example-"+o.shownIn+"-"+o.Property, func(c string) string {
		return fmt.Sprintf("_%x", []rune(c)[0])
	})
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9-]`)

func (r *Results) workloads() []workload {
	var all []workload
	for i, measured := range grouped(r.Measurements, func(m *Measurement) string { return m.Workload }) {
		w := workload{ID: "workload-" + strconv.Itoa(i+1), Name: measured[0].Workload, Setup: setup(&measured[0])}
		var plain []Measurement
		for _, m := range measured {
			if m.compared() {
				plain, w.Plain = append(plain, m), append(w.Plain, figuresIn(m))
			} else if m.Fault != "none" { // list figures under a fault separately
				w.Faulty = append(w.Faulty, figuresIn(m))
			}
		}
		if len(plain)+len(w.Faulty) == 0 {
			continue
		}
		w.Chart = latencyChart(w.ID, w.Name, plain, r.Run.labels())
		all = append(all, w)
	}
	return all
}

func setup(m *Measurement) string {
	parts := []string{format.Plural(m.Clients, "client")}
	if m.Processes > 0 {
		kind := "process"
		if m.Simulated {
			kind = "simulated process"
		}
		parts[0] += " in " + format.Plural(m.Processes, kind)
	}
	parts = append(parts, format.Plural(m.Keys, "key"))
	if m.TTLNS > 0 {
		parts = append(parts, "a lease of "+format.Setting(m.TTLNS))
	}
	return format.Joined(parts)
}

func (r *Results) funcs() template.FuncMap {
	return template.FuncMap{
		"all":         func(w workload) []figureRow { return slices.Concat(w.Plain, w.Faulty) },
		"cell":        cellText,
		"client":      clientName,
		"counts":      counts,
		"docrows":     docRows,
		"expectation": expectation,
		"file":        func(name string) string { return path.Join("..", name) },
		"integer":     func(v float64) string { return format.Count(int(math.Round(v))) },
		"intrials":    inTrials,
		"label":       r.Run.labels(),
		"networked":   networked,
		"observed":    observed,
		"at":          func(t time.Duration) string { return strings.TrimSuffix(checker.Milliseconds(t), " ms") },
		"salesetup":   saleSetup,
		"upper":       func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
	}
}
