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

// page is what the templates are given: words and numbers ready to be printed.
type page struct {
	*Results
	Verdict    html.Verdict
	Evidence   string
	Tiles      []html.Tile
	Groups     []group
	Witnesses  []witness
	Workloads  []workload
	Stores     []storeRow
	Common     string // the workload that the figures of the stores are of
	Recoveries []recoveryRow
	Shops      []saleRow
	Simulated  bool
	Emulated   bool // the servers were
	AllFiles   []File
	ResultsSum string // of results.json
}

type witness struct {
	ID       string
	Label    string
	Observed Observation
	Open     bool          // at first sight
	From     time.Duration // of its first operation
	Drawing  template.HTML
	Ops      []histories.Op
	Dir      string
	Viewer   string // Porcupine's page, beside this one; empty if there is none
	viewer   []byte
}

type workload struct {
	ID     string
	Name   string
	Setup  string
	Plain  []figureRow // without a fault
	Faulty []figureRow
	Chart  charts.Chart
}

// newPage prepares the page and the Markdown; results is the file results.json.
func newPage(r *Results, results File) (*page, error) {
	p := &page{
		Results: r, Verdict: r.verdict(), Evidence: r.evidence(), Tiles: r.tiles(), Groups: r.groups(), Workloads: r.workloads(),
		Recoveries: r.recoveries(), Shops: r.saleRows(), Emulated: r.Run.Servers == Embedded,
		Simulated: slices.ContainsFunc(r.Measurements, func(m Measurement) bool { return m.Simulated }),
		AllFiles:  append(slices.Clone(r.Files), results), ResultsSum: results.SHA256,
	}
	p.Stores, p.Common = r.stores()
	var err error
	p.Witnesses, err = r.witnesses()
	return p, err
}

// files renders the report: the page, the page without its drawings as Markdown, Porcupine's pages of the witnesses, and
// for scenarios the source of docs/evidence/scenarios.md.
func (p *page) files() (files map[string][]byte, err error) {
	files = map[string][]byte{}
	for _, w := range p.Witnesses {
		if w.Viewer != "" {
			files[w.Viewer] = w.viewer
		}
	}
	if files["index.html"], err = html.Page(templates, p.funcs(), p, "templates/page.html.tmpl"); err != nil {
		return nil, err
	}
	if files["report.md"], err = html.Markdown(templates, p.funcs(), p, "markdown", "templates/report.md.tmpl"); err != nil {
		return nil, err
	}
	if len(p.Run.Scenarios) > 0 {
		files["scenarios.md"], err = html.Markdown(templates, p.funcs(), p, "scenarios", "templates/scenarios.md.tmpl")
	}
	return files, err
}

// Properties are the columns of the table at a glance: those that applied anywhere.
func (p *page) Properties() []string {
	var names []string
	for _, o := range p.Cells {
		if o.Observed != checker.NotApplicable {
			names = append(names, o.Property)
		}
	}
	return unique(names)
}

func (r *Results) tiles() []html.Tile {
	var tiles []html.Tile
	for _, counted := range []struct {
		result checker.Result
		text   string
	}{
		{checker.Pass, "pass"}, {checker.XFail, "expected failures"}, {checker.Fail, "FAIL"}, {checker.XPass, "unexpected passes"},
		{checker.Inconclusive, "inconclusive"},
	} {
		n, b := *r.Tally.Of(counted.result), BadgeOf(counted.result, checker.NotApplicable)
		if n == 0 {
			b.Class = ""
		}
		tiles = append(tiles, html.Tile{Class: b.Class, Symbol: b.Symbol, Big: format.Count(n), Small: counted.text})
	}
	return tiles
}

// witnesses draws every violation that has one: those that were expected to hold first.
func (r *Results) witnesses() ([]witness, error) {
	label := r.Run.labels()
	urgency := []checker.Result{checker.Fail, checker.NoExpectation, checker.XFail}
	violated := slices.DeleteFunc(slices.Clone(r.Cells), func(o Observation) bool { return o.shown == nil })
	slices.SortStableFunc(violated, func(a, b Observation) int {
		return slices.Index(urgency, a.Result) - slices.Index(urgency, b.Result)
	})
	var all []witness
	for i, o := range violated { // what was expected is folded away; but one drawing is always in sight
		w := witness{ID: o.WitnessID(), Label: label(o.Lock, o.Deployment), Observed: o, Ops: o.shown.Ops, Dir: o.shownIn,
			Drawing: drawWitness(o.WitnessID(), o.Property, o.shown, o.faults), Open: i == 0 || o.Result != checker.XFail}
		w.From, _ = timeOf(o.shown)
		page, ok, err := oracle.Viewer(o.Property, o.shown, o.slack)
		if err != nil {
			return nil, err
		}
		if ok {
			w.Viewer, w.viewer = fmt.Sprintf("witness-%03d.html", i+1), page
		}
		all = append(all, w)
	}
	return all, nil
}

// WitnessID is made of the trial, which is unique, and the property; letters that an id must not have are written as
// numbers.
func (o Observation) WitnessID() string {
	return notInID.ReplaceAllStringFunc("witness-"+o.shownIn+"-"+o.Property, func(c string) string {
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
				plain = append(plain, m)
			} else if m.Fault != "none" {
				w.Faulty = append(w.Faulty, figuresIn(m))
			}
		}
		if len(plain)+len(w.Faulty) == 0 {
			continue
		}
		w.Plain, w.Chart = figureRows(plain), latencyChart(w.ID, w.Name, plain, r.Run.labels())
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
		parts = append(parts, "a lease of "+time.Duration(m.TTLNS).String())
	}
	return format.Joined(parts)
}

func (r *Results) funcs() template.FuncMap {
	return template.FuncMap{
		"all":         func(w workload) []figureRow { return slices.Concat(w.Plain, w.Faulty) },
		"barwidth":    func(part float64) float64 { return part * barWidth },
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
		"offset":      func(t, from time.Duration) string { return format.Milliseconds(t - from) },
		"salesetup":   saleSetup,
		"upper":       func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
	}
}
