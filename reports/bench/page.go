package bench

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"path/filepath"
	"regexp"
	"slices"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/run"
)

//go:embed templates
var templates embed.FS

type page struct {
	*Results
	Verdict       verdict
	Unfinished    bool
	Overview      []charts.Chart
	Safety        []safetyRow
	Found         []safetyRow // locks with violations; shown only if a self-check failed, because the page then has no tables
	Tables        []pointTable
	ControlTables []pointTable // tables of the baselines and self-checks
	Percentiles   []charts.Chart
	Scaling       []charts.Chart
	Fairness      []charts.Chart
	Costs         []charts.Chart
	Heats         []charts.Chart
	Tuned         []tunedRow
	TunedText     string
	Changes       []string
}

// Build reads a bench folder and writes results.json, the HTML report and report.md.
func Build(dir string) (*Results, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	page, err := Page(r)
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	text, err := Markdown(r)
	if err != nil {
		return nil, fmt.Errorf("report.md: %w", err)
	}
	return r, errors.Join(WriteResults(dir, r), run.WriteFile(filepath.Join(dir, "report", "index.html"), page),
		run.WriteFile(filepath.Join(dir, "report", "report.md"), text))
}

// Page returns the report as one HTML file without scripts. Relative links start at the folder report/ in the bench
// folder.
func Page(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	page, err := html.Page(templates, nil, p, "templates/page.html.tmpl")
	return measure.ReplaceAll(page, []byte("$1\u00a0$2")), err
}

// measure matches a number and a unit. Page puts a no-break space between the number and the unit.
var measure = regexp.MustCompile(`(\d) ((?:ns|µs|ms|s|min|clients?|locks?)\b|%|/s\b)`)

// Markdown returns the report as Markdown, with tables instead of charts.
func Markdown(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	cells := template.FuncMap{"line": format.TableLine, "rule": format.TableRule}
	return html.Markdown(templates, cells, p, "markdown", "templates/report.md.tmpl")
}

// newPage returns the data for the report templates. After a failed self-check, the data has no measured values.
func newPage(r *Results) (p *page, err error) {
	v := newView(r)
	p = &page{Results: r, Verdict: v.verdict(), Unfinished: r.Plan.unfinished()}
	if len(r.Withheld) > 0 {
		p.Found = slices.DeleteFunc(v.safety(), func(row safetyRow) bool { return len(row.Violated) == 0 })
		return p, nil
	}
	p.Overview, p.Safety, p.Tables, p.Changes = v.overview(), v.safety(), v.tables(v.compared()), v.changes()
	p.ControlTables = v.tables(v.pointsOf(ControlSection))
	if p.Tuned = v.tunedRows(); len(p.Tuned) > 0 {
		p.TunedText = tunedTakeaway(p.Tuned)
	}
	p.Scaling, p.Heats = v.scaling(), v.heats()
	for _, at := range v.compared() {
		d := v.drawnAt(at)
		curves, e := d.percentiles()
		p.Percentiles, err = append(p.Percentiles, curves...), errors.Join(err, e)
		p.Fairness = append(p.Fairness, v.drawing(at, v.dots(at)).fairness()...)
		p.Costs = append(p.Costs, d.cost()...)
	}
	if err != nil {
		return nil, fmt.Errorf("percentile curves: %w", err)
	}
	return p, nil
}
