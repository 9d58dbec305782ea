package run

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
)

//go:embed templates
var templates embed.FS

// page is what the templates are given: words and numbers ready to be printed.
type page struct {
	*Results
	Headline   string
	Rest       string // of the verdict
	Tone       tone
	Conditions string
	Weight     string
	Tiles      []tile
	Matrix     matrix
	Groups     []group
	Witnesses  []witness
	Workloads  []workload
	Stores     []storeRow
	Common     string // the workload that the figures of the stores are of
	Recoveries []recoveryRow
	Shops      []saleRow
	Simulated  bool
	AllFiles   []File
	ResultsSum string // of results.json
	Style      template.CSS
}

// tile is one number of the head.
type tile struct {
	N     int
	Score checker.Score
	Text  string
}

// witness is one violation with its drawing.
type witness struct {
	ID       string
	Label    string
	Observed Observation
	Open     bool          // at first sight
	From     time.Duration // of its first operation
	Lanes    lanes
	Ops      []histories.Op
	Dir      string
	Viewer   string // Porcupine's page, beside this one; empty where there is none
	viewer   []byte
}

// workload is what was measured under one workload: without a fault first, then under each.
type workload struct {
	ID     string
	Name   string
	Setup  string
	Plain  []Measurement
	Faulty []Measurement
	Chart  chart
}

// html renders report/index.html.
func (p *page) html() ([]byte, error) {
	t, err := template.New("page").Funcs(p.funcs()).ParseFS(templates, "templates/page.html.tmpl", "templates/lanes.svg.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page", p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// newPage prepares both reports; results is the file results.json.
func newPage(r *Results, results File) (*page, error) {
	css, err := templates.ReadFile("templates/page.css")
	if err != nil {
		return nil, err
	}
	p := &page{
		Results: r, Conditions: r.conditions(), Weight: r.weight(), Tiles: r.tiles(), Matrix: r.matrix(),
		AllFiles: append(slices.Clone(r.Files), results), ResultsSum: results.SHA256, Style: template.CSS(css),
	}
	if p.Witnesses, err = r.witnesses(); err != nil {
		return nil, err
	}
	p.Headline, p.Rest, p.Tone = r.headline()
	p.Groups = r.groups()
	if p.Workloads, err = r.workloads(); err != nil {
		return nil, err
	}
	p.Stores, p.Common = r.stores()
	p.Recoveries, p.Shops = r.recoveries(), r.saleRows()
	for _, m := range r.Measurements {
		p.Simulated = p.Simulated || m.Simulated
	}
	return p, nil
}

func (r *Results) tiles() []tile {
	t := r.Tally
	return []tile{
		{t.Kept, checker.Kept, "claims kept"},
		{t.Broken, checker.Broken, "claims broken"},
		{t.Undecided, checker.LeftUndecided, "claims undecided"},
		{t.Caught, checker.Caught, "controls caught"},
		{t.Missed, checker.Missed, "controls missed"},
	}
}

// witnesses draws every violation that has one: broken claims first, as they matter most.
func (r *Results) witnesses() ([]witness, error) {
	label := r.Run.labels()
	var all []witness
	for _, o := range r.Cells {
		if o.shown == nil {
			continue
		}
		id := witnessID(&o)
		w := witness{
			ID: id, Label: label(o.Lock, o.Deployment), Observed: o,
			Lanes: drawLanes(id, o.Property, o.shown, o.faults), Ops: o.shown.Ops, Dir: o.shownIn,
		}
		w.From = w.Lanes.Start
		all = append(all, w)
	}
	urgency := map[checker.Score]int{checker.Broken: 0, checker.Measured: 1, checker.Caught: 2}
	slices.SortStableFunc(all, func(a, b witness) int {
		return cmp.Compare(urgency[a.Observed.Score], urgency[b.Observed.Score])
	})
	for i := range all { // what was expected is folded away; but one drawing is always in sight
		all[i].Open = i == 0 || all[i].Observed.Score != checker.Caught
		if err := all[i].addViewer(i + 1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// witnessID is made of the trial, which is one of a kind, and the property; letters that an id must not
// have are written as numbers.
func witnessID(o *Observation) string {
	var b strings.Builder
	for _, c := range "witness-" + o.shownIn + "-" + o.Property {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "_%x", c)
		}
	}
	return b.String()
}

func (r *Results) workloads() ([]workload, error) {
	var all []workload
	for _, m := range r.Measurements {
		i := slices.IndexFunc(all, func(w workload) bool { return w.Name == m.Workload })
		if i < 0 {
			i = len(all)
			all = append(all, workload{ID: "workload-" + strconv.Itoa(i+1), Name: m.Workload, Setup: setup(&m)})
		}
		if w := &all[i]; m.Fault == "none" {
			w.Plain = append(w.Plain, m)
		} else {
			w.Faulty = append(w.Faulty, m)
		}
	}
	label := r.Run.labels()
	for i := range all {
		var err error
		top := bestOf(all[i].Plain)
		for j := range all[i].Plain {
			all[i].Plain[j].best = top
		}
		if all[i].Chart, err = chartOf(all[i].ID, all[i].Name, all[i].Plain, label); err != nil {
			return nil, fmt.Errorf("chart of %s: %w", all[i].Name, err)
		}
	}
	return all, nil
}

// setup says in words how a workload was driven.
func setup(m *Measurement) string {
	parts := []string{plural(m.Clients, "client")}
	if m.Processes > 0 {
		kind := "process"
		if m.Simulated {
			kind = "simulated process"
		}
		parts[0] += " in " + plural(m.Processes, kind)
	}
	parts = append(parts, plural(m.Keys, "key"))
	if m.TTLNS > 0 {
		parts = append(parts, "a lease of "+time.Duration(m.TTLNS).String())
	}
	return joined(parts)
}

// joined writes a list as people do.
func joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// rise is the way from the page to a file of the run folder.
func rise(name string) string { return path.Join("..", name) }

func (r *Results) funcs() template.FuncMap {
	return template.FuncMap{
		"px":          func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) },
		"add":         func(a, b float64) float64 { return a + b },
		"file":        rise,
		"count":       format.Count,
		"counts":      counts,
		"plural":      plural,
		"symbol":      symbol,
		"expectation": expectation,
		"observed":    observed,
		"tone":        scoreClass,
		"mark":        markOf,
		"scoreof":     classOfScore,
		"inc":         func(i int) int { return i + 1 },
		"where":       func(o Observation) string { return o.where() },
		"witness":     func(o Observation) string { return witnessID(&o) },
		"shown":       func(o Observation) bool { return o.shown != nil },
		"label":       r.Run.labels(),
		"client":      clientName,
		"claims":      claims,
		"intrials":    inTrials,
		"networked":   networked,
		"ornone":      orNone,
		"verdicts":    storeRow.verdicts,
		"salesetup":   saleSetup,
		"ms":          milliseconds,
		"barwidth":    func(part float64) float64 { return part * barWidth },
		"integer":     func(v float64) string { return format.Count(int(math.Round(v))) },
		"seenin":      claim.where,
		"lines":       latencyLines,
		"cellof":      cellOf,
		"significant": significant,
		"percent":     percent,
		"duration":    duration,
		"offset":      func(t, from time.Duration) string { return milliseconds(int64(t - from)) },
		"when":        when,
		"gibibytes":   gibibytes,
		"embedded":    func() bool { return r.Run.Servers == Embedded },
	}
}

// scoreClass is the class of a score in the page's style.
func scoreClass(s checker.Score) string { return "score-" + strings.ToLower(s.String()) }

// classOfScore tells what was violated without a claim from what was merely measured.
func classOfScore(o Observation) string {
	if o.Score == checker.Measured && o.Observed == checker.Violated {
		return "score-violated"
	}
	return scoreClass(o.Score)
}
