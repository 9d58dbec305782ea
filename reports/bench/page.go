package bench

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"

	chartsreport "lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

//go:embed templates
var templates embed.FS

// page is what the templates are given: words and numbers ready to be printed.
type page struct {
	*Results
	Verdict       verdict
	Tiles         []tile
	Safety        []safetyRow
	Found         []foundViolation // of a bench whose figures are withheld
	Tables        []pointTable
	ControlTables []pointTable // of the points that are there for controls and floors alone
	Percentiles   []chartsreport.Chart
	Scaling       []chartsreport.Chart
	Fairness      []chartsreport.Chart
	Costs         []chartsreport.Chart
	Heats         []chartsreport.Chart
	Forests       []chartsreport.Chart
	Tuned         []tunedRow
	TunedText     string
	Changes       []string
	Style         template.CSS
}

// foundViolation is told of even where no figure is.
type foundViolation struct {
	Subject string
	Violation
}

// Page is the whole report as one file that needs nothing else: no network, no script. It is to stand in report/ of the
// bench folder: so it links the trials.
func Page(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	if p.Style, err = styleSheet(); err != nil {
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

// styleSheet is that of all pages, and what the drawings of a bench need beyond.
func styleSheet() (template.CSS, error) {
	shared, err := run.Style()
	if err != nil {
		return "", err
	}
	charts, err := chartsreport.Files.ReadFile("chart.css")
	if err != nil {
		return "", err
	}
	own, err := templates.ReadFile("templates/benchmark.css")
	return template.CSS(shared + string(charts) + string(own)), err
}

// newPage prepares every kind of report. Where figures are withheld it holds none, so that no template can show one.
func newPage(r *Results) (*page, error) {
	v := newView(r)
	p := &page{Results: r, Verdict: v.verdict()}
	if len(r.Withheld) > 0 {
		for _, row := range v.safety() {
			for _, x := range row.Violated {
				p.Found = append(p.Found, foundViolation{row.Subject.Name, x.Violation})
			}
		}
		return p, nil
	}
	p.Tiles, p.Safety, p.Tables = v.tiles(), v.safety(), v.tables(v.compared())
	p.ControlTables = v.tables(v.pointsOf(ControlSection))
	p.Scaling, p.Fairness, p.Costs = v.scalingCharts(), v.fairnessCharts(), v.costCharts()
	p.Heats, p.Forests = v.heatCharts(), v.forestCharts()
	if p.Tuned = v.tunedRows(); len(p.Tuned) > 0 {
		p.TunedText = tunedTakeaway(p.Tuned)
	}
	p.Changes = v.changes()
	var err error
	if p.Percentiles, err = v.percentileCharts(); err != nil {
		return nil, fmt.Errorf("percentile curves: %w", err)
	}
	return p, nil
}

func funcs() template.FuncMap {
	return template.FuncMap{
		"count":    format.Count,
		"plural":   format.Plural,
		"when":     format.When,
		"kind":     kindText,
		"settings": settings,
		"heading":  heading,
		"describe": describe,
		"setting":  format.Setting,
		"memory":   memory,
		"metrics":  Metrics,
		"struck":   func(a allMetrics, i int) bool { return a.Struck[i] },
		"embedded": func(p *Plan) bool { return p.Servers == run.Embedded },
		"judged":   func(t *Trial) bool { return t.Judged != nil },
	}
}

func memory(n int64) string {
	if n == 0 {
		return ""
	}
	return format.Significant(float64(n)/(1<<30)) + " GiB"
}
