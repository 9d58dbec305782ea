package matrix

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"lockbench/checker/properties"
	"lockbench/reports/charts"
	"lockbench/reports/figures"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

//go:embed templates
var templates embed.FS

// looks holds the badge and the meaning of each state.
var looks = map[State]html.Key{
	Pass:         {Badge: html.Badge{Class: "result-pass", Symbol: "✓", Word: "pass"}, Means: "no check found a violation"},
	Fail:         {Badge: html.Badge{Class: "result-fail", Symbol: "✗", Word: "FAIL"}, Means: "violated, and it was expected to hold"},
	Inconclusive: {Badge: html.Badge{Class: "result-inconclusive", Symbol: "?", Word: "inconclusive"}, Means: "a violation did not show again, or more than a tenth of the checks have no verdict"},
	Unsupported:  {Badge: html.Badge{Class: "result-observed", Symbol: format.None, Word: "unsupported"}, Means: "the library does not promise it"},
	NotRun:       {Badge: html.Badge{Class: "result-observed", Symbol: "○", Word: "not run"}, Means: "not in the profile, or a step has no result"},
}

// cell is the answer to one question, as the pages show it.
type cell struct {
	html.Key
	Title string
}

func cellOf(r *Result, property string) cell {
	c := cell{Key: looks[r.State(property)], Title: property + ": " + string(r.State(property))}
	for _, q := range r.Questions {
		if q.Property == property {
			c.Title += ", " + q.Counts()
		}
	}
	return c
}

// Counts describes the checks of a property.
func (q Question) Counts() string {
	text := fmt.Sprintf("held in %s of %s", format.Count(q.Held), format.Plural(q.Held+q.Violated+q.Inconclusive, "check"))
	for _, also := range []struct {
		n    int
		what string
	}{{q.Violated, "violated in"}, {q.Inconclusive, "no verdict in"}, {q.Unconfirmed, "violated but not shown again in"}} {
		if also.n > 0 {
			text += fmt.Sprintf(", %s %s", also.what, format.Count(also.n))
		}
	}
	return text
}

// row is one version of a library in one setting.
type row struct {
	*Result
	Link  string // page of the library; "": no link
	Cells []cell
	Score string // such as 13/14
	Tone  html.Tone
}

func rowOf(r *Result, asked []string) row {
	passed, all := r.Tally()
	v := row{Result: r, Score: fmt.Sprintf("%d/%d", passed, all), Tone: toneOf(r)}
	if all == 0 {
		v.Score = format.None
	}
	for _, property := range asked {
		v.Cells = append(v.Cells, cellOf(r, property))
	}
	return v
}

func toneOf(r *Result) html.Tone {
	passed, all := r.Tally()
	switch {
	case len(r.Failed()) > 0:
		return html.Bad
	case passed < all || all == 0:
		return html.Unsure
	}
	return html.Good
}

// Linked returns the row with a link to the page of its library.
func (r row) Linked() row {
	r.Link = r.Library + "/index.html"
	return r
}

// median returns the median of a distribution in milliseconds.
func median(d figures.Distribution) string {
	if ns, ok := d.At(0.5); ok {
		return format.Milliseconds(ns)
	}
	return format.None
}

// library is all results of one library.
type library struct {
	Name, Language, Store, Package string
	Rows                           []row
}

// Page returns the name of the library's page.
func (l library) Page() string { return l.Name + "/index.html" }

// Current returns the rows of the latest release, or of the newest version that was tested.
func (l library) Current() []row {
	newest := l.Rows[len(l.Rows)-1].Version
	for _, r := range l.Rows {
		if r.Latest {
			newest = r.Version
		}
	}
	return slices.DeleteFunc(slices.Clone(l.Rows), func(r row) bool { return r.Version != newest })
}

// Past returns the rows of all versions but the current one.
func (l library) Past() []row {
	now := l.Current()[0].Version
	return slices.DeleteFunc(slices.Clone(l.Rows), func(r row) bool { return r.Version == now })
}

// view holds the data of the templates.
type view struct {
	Verdict    html.Verdict
	Properties []properties.Property // those that were asked of any library
	Libraries  []library
	Keys       []html.Key
	Pairs      []pair
	Commands   []string
}

// newView arranges results, which Read has sorted.
func newView(all []*Result) view {
	v := view{Pairs: pairs(all)}
	var asked []string
	for _, p := range properties.All() {
		if slices.ContainsFunc(all, func(r *Result) bool {
			return slices.ContainsFunc(r.Questions, func(q Question) bool { return q.Property == p.Name })
		}) {
			v.Properties, asked = append(v.Properties, p), append(asked, p.Name)
		}
	}
	for _, r := range all {
		if n := len(v.Libraries); n == 0 || v.Libraries[n-1].Name != r.Library {
			v.Libraries = append(v.Libraries, library{Name: r.Library, Language: r.Language, Store: r.Store, Package: r.Package})
		}
		l := &v.Libraries[len(v.Libraries)-1]
		l.Rows = append(l.Rows, rowOf(r, asked))
	}
	for _, s := range []State{Pass, Fail, Inconclusive, Unsupported, NotRun} {
		v.Keys = append(v.Keys, looks[s])
	}
	v.Verdict = v.verdict(all)
	return v
}

// verdict returns the headline: how many libraries pass every question in their latest release.
func (v view) verdict(all []*Result) html.Verdict {
	said := html.Verdict{Tone: html.Good}
	passing, tested := 0, 0
	var failing []string
	for _, l := range v.Libraries {
		worst := html.Good
		now := l.Current()
		if !now[0].Latest {
			continue
		}
		tested++
		for _, r := range now {
			switch {
			case r.Tone == html.Bad:
				worst = html.Bad
			case r.Tone == html.Unsure && worst == html.Good:
				worst = html.Unsure
			}
		}
		switch worst {
		case html.Good:
			passing++
		case html.Bad:
			failing = append(failing, l.Name)
		}
	}
	said.Headline = fmt.Sprintf("%d of %d lock libraries pass every question asked of their latest release.", passing, tested)
	if tested == 0 {
		said.Tone, said.Headline = html.Unsure, "No latest release was tested."
	}
	if len(failing) > 0 {
		said.Tone = html.Bad
		said.Headline += fmt.Sprintf(" A promise was violated by %s.", format.Joined(failing))
	} else if passing < tested {
		said.Tone = html.Unsure
	}
	caught, accused := 0, 0
	for _, p := range v.Pairs {
		if p.Detected() {
			caught++
		}
		if p.Fixed != nil && len(p.Fixed.Failed()) > 0 {
			accused++
		}
	}
	if len(v.Pairs) > 0 {
		said.Rest = fmt.Sprintf("Published defects that were detected: %d of %d. Fixed versions that violate a property: %d.", caught, len(v.Pairs), accused)
	}
	said.Conditions = conditions(all)
	return said
}

// conditions describes how and where the results were measured, in one line.
func conditions(all []*Result) string {
	var profiles, machines []string
	versions := map[string]bool{}
	for _, r := range all {
		versions[r.Library+"@"+r.Version] = true
		if r.NotRun != "" {
			continue
		}
		profiles = append(profiles, "profile "+r.Profile)
		machines = append(machines, strings.TrimPrefix(fmt.Sprintf("%s, %s", r.Environment.CPU, format.Plural(r.Environment.Cores, "core")), ", "))
	}
	slices.Sort(profiles)
	slices.Sort(machines)
	parts := slices.Concat([]string{format.Plural(len(versions), "version")}, slices.Compact(profiles), slices.Compact(machines))
	return strings.Join(parts, " · ")
}

// libraryView holds the data of the page of one library.
type libraryView struct {
	library
	Verdict    html.Verdict
	Properties []properties.Property
	Keys       []html.Key
	Pairs      []pair
	Latency    charts.Chart
}

func (v view) library(l library) libraryView {
	of := libraryView{library: l, Properties: v.Properties, Keys: v.Keys, Latency: l.latency()}
	for _, p := range v.Pairs {
		if p.Bad.Library == l.Name {
			of.Pairs = append(of.Pairs, p)
		}
	}
	of.Verdict.Tone = html.Good
	var parts []string
	for _, r := range l.Current() {
		part := fmt.Sprintf("%s %s passes %s questions", r.Setting, r.Version, strings.ReplaceAll(r.Score, "/", " of "))
		if failed := r.Failed(); len(failed) > 0 {
			part += " and violates " + format.Joined(failed)
		}
		parts = append(parts, part+".")
		if r.Tone == html.Bad || r.Tone == html.Unsure && of.Verdict.Tone == html.Good {
			of.Verdict.Tone = r.Tone
		}
	}
	if !l.Current()[0].Latest {
		of.Verdict.Tone = html.Unsure
		parts = append(parts, "The latest release was not tested.")
	}
	of.Verdict.Headline, of.Verdict.Rest = parts[0], strings.Join(parts[1:], " ")
	var all []*Result
	for _, r := range l.Rows {
		all = append(all, r.Result)
	}
	of.Verdict.Conditions = conditions(all)
	return of
}

// latency returns a chart of the contended grants of the library's current version, with a line for each setting.
func (l library) latency() charts.Chart {
	c := charts.Chart{ID: "latency-chart", Name: "contended grants, workload counter without a fault"}
	var lines []charts.Line
	for _, r := range l.Current() {
		if r.Figures == nil || len(r.Figures.Granted.Curve) < 2 {
			continue
		}
		line := charts.Line{Name: r.Setting, Style: charts.StyleAt(len(lines))}
		for _, p := range r.Figures.Granted.Curve {
			line.Points = append(line.Points, charts.Point{X: p.Rank, Y: float64(p.NS)})
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return c
	}
	slowest := slices.MaxFunc(lines, func(a, b charts.Line) int { return cmp.Compare(a.Points[0].Y, b.Points[0].Y) })
	c.Takeaway = fmt.Sprintf("Half of the contended grants of %s took at most %s.", slowest.Name, format.Duration(int64(slowest.Points[0].Y)))
	c.Note = "From one short trial: lockbench bench measures. To the right: the part of the grants that took at most this long; a line ends when ten samples remain."
	c.SVG = charts.Percentiles(lines).SVG(charts.Head{ID: "latency", Title: "Acquire latency by percentile", Desc: c.Takeaway})
	c.Head, c.Rows = charts.RankTable(lines)
	return c
}

// Root returns the path from the page of a library to the folder of all results.
func (libraryView) Root() string { return "../" }

// Root returns the path from the matrix to the folder of all results.
func (view) Root() string { return "" }

// pages returns the HTML pages and their style sheet, by their paths with slashes.
func (v view) pages() (map[string][]byte, error) {
	funcs := template.FuncMap{
		"median": median,
	}
	index, err := html.Page(templates, funcs, v, "templates/rows.html.tmpl", "templates/matrix.html.tmpl")
	if err != nil {
		return nil, err
	}
	own, err := templates.ReadFile("templates/matrix.css")
	if err != nil {
		return nil, err
	}
	pages := map[string][]byte{"index.html": index, "style.css": slices.Concat([]byte(html.Style()), own)}
	for _, l := range v.Libraries {
		if pages[l.Page()], err = html.Page(templates, funcs, v.library(l), "templates/rows.html.tmpl", "templates/library.html.tmpl"); err != nil {
			return nil, err
		}
	}
	return pages, nil
}
