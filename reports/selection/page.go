package selection

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"time"

	chartsreport "lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/run"

	"lockbench/internal/choose/decision"
)

//go:embed templates
var templates embed.FS

// page is what the templates are given: words and numbers ready to be printed.
type page struct {
	*decision.Report
	Headline  string
	Look      look
	Choices   []choice
	OrLock    []choice // the best locks, where none is needed
	Tiles     []tile
	Without   []judged // what takes the place of a lock
	Instead   []string // of those, what the team says applies
	Asks      []asked
	Matrix    []judged
	MatrixSay string
	Criteria  []weighed
	Compared  []compared
	Scores    *chartsreport.Chart
	Wins      *chartsreport.Chart
	Turns     *chartsreport.Chart
	Values    []decision.Turn // the turns by a measured value
	Changes   []changed
	Leases    *chartsreport.Chart
	Tried     []tried
	Inputs    []said
	For       []said
	Against   []said
	Because   []said // the conditions
	Proofs    []proofs
	Sources   []source
	Style     template.CSS
	Embedded  template.JS
}

// choice is a recommended option.
type choice struct {
	Name, Anchor, Doc, About string
}

// tile is one number of the head.
type tile struct{ Big, Small string }

// changed is what another need would change.
type changed struct {
	Need, Value string
	Look        look
	Recommended string
	Text        string
}

// tried is a lease that was tried.
type tried struct {
	decision.Confirmed
	TTL, Observed, Interval, Predicted string
	Look                               look
	Ref                                ref
	Files                              []kept
}

// source is a folder of results, with the way to it.
type source struct {
	decision.Source
	Anchor, Link, Began string
}

// Page is the whole report as one file that needs nothing else: no network, no program. It carries the report itself, so
// that anybody can work it out again: see ReadPage.
func Page(r *decision.Report) ([]byte, error) {
	r, err := decision.Scrubbed(r)
	if err != nil {
		return nil, err
	}
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Funcs(funcs()).ParseFS(templates, "templates/*.html.tmpl")
	if err == nil {
		t, err = t.ParseFS(chartsreport.Files, "chart.html.tmpl")
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page", p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// newPage prepares the page of a report that was scrubbed.
func newPage(r *decision.Report) (*page, error) {
	text, err := json.Marshal(r) // < > & and the ends of lines that a script has are escaped
	if err != nil {
		return nil, err
	}
	if r, err = decision.Readable(r); err != nil {
		return nil, err
	}
	v := newView(r)
	p := &page{
		Report: r, Headline: headline(r.Decision), Look: lookOfOutcome(r.Decision.Outcome), Choices: v.choices(r.Decision.Recommended),
		Tiles: v.tiles(), Asks: v.asks(), Matrix: v.judgedAll(), MatrixSay: v.matrixTakeaway(), Criteria: v.weighed(), Compared: v.comparedAll(),
		Changes: v.changes(), Tried: v.tried(), For: v.said(r.Decision.For), Against: v.said(r.Decision.Against),
		Because: v.said(r.Decision.Conditions), Proofs: v.proofsAll(), Sources: v.sourcesAll(),
		Scores: shownChart(v.scoresChart()), Wins: shownChart(v.winsChart()), Turns: shownChart(v.turnsChart()), Leases: shownChart(v.leaseChart()),
	}
	if r.Decision.Outcome == decision.NoLockNeeded {
		p.OrLock = v.choices(r.Decision.Lock)
	}
	for _, j := range p.Matrix {
		if j.Option.Kind == decision.NoLock {
			p.Without = append(p.Without, j)
		}
	}
	for _, m := range r.Needs.Instead {
		p.Instead = append(p.Instead, string(m))
	}
	for _, t := range r.Decision.Turns {
		if t.Value != nil {
			p.Values = append(p.Values, t)
		}
	}
	if r.Lease != nil {
		p.Inputs = v.said(r.Lease.Inputs)
	}
	p.Embedded = template.JS(text)
	p.Style, err = styleSheet()
	return p, err
}

func shownChart(c chartsreport.Chart, ok bool) *chartsreport.Chart {
	if !ok {
		return nil
	}
	return &c
}

// styleSheet is that of all pages, and what this one has beyond.
func styleSheet() (template.CSS, error) {
	shared, err := run.Style()
	if err != nil {
		return "", err
	}
	charts, err := chartsreport.Files.ReadFile("chart.css")
	if err != nil {
		return "", err
	}
	own, err := templates.ReadFile("templates/advice.css")
	return template.CSS(shared + string(charts) + string(own)), err
}

func (v *view) choices(names []string) []choice {
	var all []choice
	for _, name := range names {
		o := v.options[name]
		all = append(all, choice{Name: name, Anchor: v.anchorOf(name), Doc: o.Doc, About: aboutOption(o)})
	}
	return all
}

// aboutOption says in a few words what an option takes.
func aboutOption(o decision.Option) string {
	if o.Kind == decision.NoLock {
		return "no lock"
	}
	parts := nonEmpty(o.Store, o.Deployment)
	text := "a lock"
	if len(parts) > 0 {
		text += " on " + strings.Join(parts, ", ")
	}
	switch o.Lease {
	case decision.NoLease:
		text += "; nothing ends a hold"
	case decision.Fixed:
		text += "; a fixed lease"
	case decision.Renewed:
		text += "; a lease that is renewed"
	case decision.Connection:
		text += "; it ends with its connection"
	}
	if o.Fences {
		text += "; gives fencing tokens"
	}
	return text
}

func (v *view) tiles() []tile {
	d := v.Decision
	all := []tile{
		{format.Count(len(v.Options)), "options looked at"},
		{format.Count(len(d.Out)), "knocked out"},
		{format.Count(len(d.Survivors)), "do all that is required"},
	}
	if len(d.Wins) > 0 && d.Weighings > 0 {
		all = append(all, tile{percent(d.Wins[0].Share), "of weightings won by " + d.Wins[0].Option})
	}
	return append(all, tile{format.Count(len(v.Findings) + len(v.Figures) + len(v.Times)), "observations"})
}

func (v *view) changes() []changed {
	var all []changed
	for _, c := range v.Decision.Changes {
		all = append(all, changed{c.Need, c.Value, lookOfOutcome(c.Outcome), orElse(len(c.Recommended) > 0, format.Joined(c.Recommended), format.None), c.Text})
	}
	return all
}

func (v *view) tried() []tried {
	if v.Lease == nil {
		return nil
	}
	var all []tried
	for _, c := range v.Lease.Confirmed {
		t := tried{
			Confirmed: c, TTL: format.Setting(c.TTLNS), Observed: chance(observedShare(c)), Predicted: chance(c.Predicted),
			Interval: "[" + chance(c.Low) + ", " + chance(c.High) + "]", Look: look{"✗", "differs", "bad"},
			Ref: ref{c.Source, v.anchors[c.Source]}, Files: historiesOf(v.sources[c.Source].Dir, c.Histories),
		}
		if c.Agrees {
			t.Look = look{"✓", "agrees", "good"}
		}
		if c.Scale > 0 && c.Scale != 1 {
			t.TTL = fmt.Sprintf("%s (as %s: all times %s as long)", format.Duration(asNeeded(c)), format.Duration(float64(c.TTLNS)), format.Times(c.Scale))
		}
		all = append(all, t)
	}
	return all
}

func (v *view) sourcesAll() []source {
	var all []source
	for _, s := range v.Report.Sources {
		began := s.Started
		if at, err := time.Parse(time.RFC3339, s.Started); err == nil {
			began = format.When(at)
		}
		all = append(all, source{s, v.anchors[s.ID], link(s.Dir), began})
	}
	return all
}

func funcs() template.FuncMap {
	return template.FuncMap{
		"count":    format.Count,
		"plural":   format.Plural,
		"setting":  format.Setting,
		"titles":   format.Joined,
		"tags":     tags,
		"help":     helpOfTag,
		"enough":   format.Significant,
		"groups":   groupsOf,
		"refslice": func(r ref) []ref { return []ref{r} },
	}
}
