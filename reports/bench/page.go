package bench

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/run"
	"lockbench/reports/stats"
)

//go:embed templates
var templates embed.FS

type page struct {
	*Results
	Verdict       verdict
	Tiles         []html.Tile
	Safety        []safetyRow
	Found         []safetyRow // those with violations, of a bench whose figures are withheld
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

// Build reads a bench folder and writes its results.json, page and report.md.
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

// Page returns the report as one page without scripts or network, whose links expect it in report/ of the bench folder.
func Page(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	return html.Page(templates, nil, p, "templates/page.html.tmpl")
}

// Markdown returns the report without its drawings: their tables stand for them.
func Markdown(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	cells := template.FuncMap{"line": format.TableLine, "rule": format.TableRule}
	return html.Markdown(templates, cells, p, "markdown", "templates/report.md.tmpl")
}

// newPage prepares every kind of report. If figures are withheld it holds none, so that no template can show one.
func newPage(r *Results) (p *page, err error) {
	v := newView(r)
	p = &page{Results: r, Verdict: v.verdict()}
	if len(r.Withheld) > 0 {
		p.Found = slices.DeleteFunc(v.safety(), func(row safetyRow) bool { return len(row.Violated) == 0 })
		return p, nil
	}
	p.Tiles, p.Safety, p.Tables = v.tiles(), v.safety(), v.tables(v.compared())
	p.ControlTables = v.tables(v.pointsOf(ControlSection))
	p.Scaling, p.Heats, p.Fairness = each(v.sweeps(), v.scalingChart), v.heatCharts(), each(v.compared(), v.fairnessChart)
	p.Costs, p.Forests = each(v.compared(), v.costChart), each(v.compared(), v.forestChart)
	if p.Tuned = v.tunedRows(); len(p.Tuned) > 0 {
		p.TunedText = tunedTakeaway(p.Tuned)
	}
	p.Changes = v.changes()
	if p.Percentiles, err = v.percentileCharts(); err != nil {
		return nil, fmt.Errorf("percentile curves: %w", err)
	}
	return p, nil
}

type view struct {
	*Results
	styles map[string]charts.Style
}

func newView(r *Results) *view { return &view{r, stylesOf(r.Plan.Subjects)} }

func filter[T any](all []T, keep func(T) bool) (kept []T) {
	for _, x := range all {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func find[T any](all []T, wanted func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, wanted); i >= 0 {
		return all[i], true
	}
	return found, false
}

// estimate returns a metric of a subject at a point; ok is false if it was not measured, or means nothing.
func (v *view) estimate(subject, point, metric string) (stats.Estimate, bool) {
	row, ok := v.Row(subject, point)
	if !ok || row.Unsafe != nil {
		return stats.Estimate{}, false
	}
	e := row.Estimates[metric]
	return e, e.N > 0
}

func (v *view) ranking(point string) []Ranked {
	r, _ := find(v.Rankings, func(r Ranking) bool { return r.Point == point })
	return r.Order
}

func (v *view) ranked(point string) []Ranked {
	all := filter(v.ranking(point), func(r Ranked) bool { return r.Rank > 0 })
	slices.SortStableFunc(all, func(a, b Ranked) int { return a.Rank - b.Rank })
	return all
}

func (v *view) first(point string) []string {
	return namesOf(filter(v.ranking(point), func(r Ranked) bool { return r.Rank == 1 }))
}

func namesOf(all []Ranked) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.Subject)
	}
	return names
}

// charted returns the names that a chart of a point draws, from best to worst, and which locks it leaves out and why.
func (v *view) charted(point string) (names []string, left string) {
	names = namesOf(v.ranked(point))
	var unsafe, out []string
	for _, s := range v.Plan.Subjects {
		row, ok := v.Row(s.Name, point)
		switch {
		case !ok || s.Role != Lock || slices.Contains(names, s.Name):
		case row.Unsafe != nil:
			unsafe = append(unsafe, fmt.Sprintf("%s (%s violated)", s.Name, row.Unsafe.Property))
		default:
			out = append(out, fmt.Sprintf("%s (%s)", s.Name, v.whyOut(row)))
		}
	}
	if len(unsafe) > 0 {
		left = "Not drawn, as their figures mean nothing: " + format.Joined(unsafe) + ". "
	}
	if len(out) > 0 {
		left += "Not drawn, as they are out of the running: " + format.Joined(out) + ". "
	}
	return names, strings.TrimSpace(left)
}

// compared returns the points at which locks are compared: all but those of the bench's own controls.
func (v *view) compared() []Point {
	return filter(v.Plan.Points, func(p Point) bool { return p.Section != ControlSection })
}

func (v *view) sections() []string {
	var all []string
	for _, p := range v.compared() {
		if !slices.Contains(all, p.Section) {
			all = append(all, p.Section)
		}
	}
	return all
}

func (v *view) pointsOf(section string) []Point {
	return filter(v.Plan.Points, func(p Point) bool { return p.Section == section })
}

func describe(p Point) string {
	return conditions(p, format.Plural(p.Clients, "client"), format.Plural(p.Keys, "key"), holdText(p))
}

// conditions adds how clients arrive, and the fault, to other conditions of a point.
func conditions(p Point, parts ...string) string {
	if p.Rate > 0 {
		parts = append(parts, arrivalText(p))
	}
	if faulty(p) {
		parts = append(parts, "under "+p.Fault)
	}
	return strings.Join(parts, ", ")
}

func faulty(p Point) bool { return p.Fault != "" && p.Fault != "none" }

func holdText(p Point) string {
	if p.HoldNS == 0 {
		return "nothing held"
	}
	return "held " + format.Setting(p.HoldNS)
}

func arrivalText(p Point) string {
	if p.Arrivals == Closed || p.Arrivals == "" {
		return "each as soon as the last is done"
	}
	return fmt.Sprintf("%s arrivals at %s /s", p.Arrivals, format.Significant(p.Rate))
}

// apart says in words what tells a point from the others of its section; nothing if it is the only one.
func (v *view) apart(p Point) string {
	var parts []string
	for i, trait := range []func(Point) string{
		func(p Point) string { return format.Plural(p.Clients, "client") },
		func(p Point) string { return format.Plural(p.Keys, "key") },
		holdText,
		arrivalText,
		func(p Point) string { return "fault " + p.Fault },
	} {
		differs := slices.ContainsFunc(v.pointsOf(p.Section), func(q Point) bool { return trait(q) != trait(p) })
		if differs && (i != 1 || p.Keys != p.Clients) { // a key for each client goes without saying
			parts = append(parts, trait(p))
		}
	}
	return strings.Join(parts, ", ")
}

// named returns a section with something of it, or that alone if there is but one section.
func (v *view) named(section, text string) string {
	switch {
	case text == "":
		return section
	case section != ControlSection && len(v.sections()) == 1:
		return text
	}
	return section + ", " + text
}

// name returns a point's in headings: its section, and what tells it from the others of that.
func (v *view) name(p Point) string { return v.named(p.Section, v.apart(p)) }
