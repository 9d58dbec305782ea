package bench

import (
	"embed"
	"fmt"
	"html/template"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/run"
)

//go:embed templates
var templates embed.FS

// page is what the templates are given: words and numbers ready to be printed.
type page struct {
	*Results
	Verdict       verdict
	Tiles         []html.Tile
	Safety        []safetyRow
	Found         []foundViolation // of a bench whose figures are withheld
	Tables        []pointTable
	ControlTables []pointTable // of the points that are there for controls and floors alone
	Percentiles   []charts.Chart
	Scaling       []charts.Chart
	Fairness      []charts.Chart
	Costs         []charts.Chart
	Heats         []charts.Chart
	Forests       []charts.Chart
	Tuned         []tunedRow
	TunedText     string
	Changes       []string
}

// foundViolation is shown even if no figure is.
type foundViolation struct {
	Subject string
	Violation
}

// Page returns the whole report as one file that needs no network and no script. Its links expect it in report/ of the
// bench folder.
func Page(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	return html.Page(templates, funcs(), p, "templates/page.html.tmpl")
}

// Markdown returns the report without its drawings: their tables stand for them.
func Markdown(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	all := funcs()
	all["line"], all["rule"] = format.TableLine, format.TableRule
	return html.Markdown(templates, all, p, "markdown", "templates/report.md.tmpl")
}

// newPage prepares every kind of report. If figures are withheld it holds none, so that no template can show one.
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
	p.Scaling, p.Heats = v.scalingCharts(), v.heatCharts()
	p.Fairness, p.Costs, p.Forests = v.each(v.fairnessChart), v.each(v.costChart), v.each(v.forestChart)
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
		"kind":     kindText,
		"settings": settings,
		"heading":  heading,
		"struck":   func(a allMetrics, i int) bool { return a.Struck[i] },
		"embedded": func(p *Plan) bool { return p.Servers == run.Embedded },
		"judged":   func(t *Trial) bool { return t.Judged != nil },
	}
}
