package selection

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockbench/reports/bench"
	"lockbench/reports/charts"
	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// view finds its way about in a Report, for what is shown of it.
type view struct {
	*decision.Report
	options map[string]decision.Option
	cells   map[place]decision.Cell
	sources map[string]decision.Source
	anchors map[string]string // of a finding, a figure or a source, by its id
	styles  map[string]charts.Style
}

// place is an option and what is asked of it, or compared.
type place struct{ option, of string }

func newView(r *decision.Report) *view {
	v := &view{
		Report: r, options: map[string]decision.Option{}, cells: map[place]decision.Cell{}, sources: map[string]decision.Source{},
		anchors: map[string]string{}, styles: map[string]charts.Style{},
	}
	for _, o := range r.Options {
		v.options[o.Name] = o
	}
	for _, c := range r.Cells {
		v.cells[place{c.Option, c.Of}] = c
	}
	for _, s := range r.Sources {
		v.sources[s.ID] = s
		v.anchor(s.ID)
	}
	for _, f := range r.Findings {
		v.anchor(f.ID)
	}
	for _, f := range r.Figures {
		v.anchor(f.ID)
	}
	for _, t := range r.Times {
		v.anchor(t.ID)
	}
	v.giveStyles()
	return v
}

var plainID = regexp.MustCompile(`^[A-Z][0-9]+$`)

// anchor is the id itself, unless it would not do as one.
func (v *view) anchor(id string) {
	if _, known := v.anchors[id]; known {
		return
	}
	if !plainID.MatchString(id) {
		v.anchors[id] = fmt.Sprintf("evidence-%d", len(v.anchors))
		return
	}
	v.anchors[id] = id
}

// giveStyles gives those a colour that are drawn, from the best on; there are more options than colours.
func (v *view) giveStyles() {
	for _, s := range v.Decision.Scores {
		v.giveStyle(s.Option)
	}
	for _, w := range v.Decision.Wins {
		v.giveStyle(w.Option)
	}
}

func (v *view) giveStyle(option string) {
	if _, has := v.styles[option]; has {
		return
	}
	n := len(v.styles)
	s := charts.Style{Color: n, Marker: n % charts.Markers, Dash: charts.Dashes()[n%len(charts.Dashes())]}
	if n >= charts.Colors {
		s.Color = charts.Grey
	}
	v.styles[option] = s
}

// styleOf is grey for what is drawn nowhere else.
func (v *view) styleOf(option string) charts.Style {
	if s, has := v.styles[option]; has {
		return s
	}
	return charts.Style{Color: charts.Grey}
}

// ref is an evidence id and the place on the page that it leads to; none where there is no such evidence.
type ref struct{ ID, Anchor string }

func (v *view) refs(ids []string) []ref {
	var all []ref
	for _, id := range ids {
		all = append(all, ref{id, v.anchors[id]})
	}
	return all
}

// said is a sentence with what it rests on.
type said struct {
	Text string
	Tag  decision.Tag
	Refs []ref
}

func (v *view) said(statements []decision.Statement) []said {
	var all []said
	for _, s := range statements {
		all = append(all, said{s.Text, tagOf(s.Tag), v.refs(s.Evidence)})
	}
	return all
}

// tagOf is unknown for anything that is not one of the others: a word of another's is no evidence.
func tagOf(t decision.Tag) decision.Tag {
	if slices.Contains([]decision.Tag{decision.Measured, decision.Documented, decision.Assumed}, t) {
		return t
	}
	return decision.Unknown
}

// answer is that of an option to a requirement: unknown where nobody gave one, or what was given is none.
func (v *view) answer(option, requirement string) decision.Cell {
	c, given := v.cells[place{option, requirement}]
	if !given {
		c.Text = "Nothing is known of it."
	}
	c.Tag = tagOf(c.Tag)
	if c.Answer != decision.Yes && c.Answer != decision.No {
		c.Answer = decision.DontKnow
	}
	return c
}

// knockout is why an option is out; ok is false where it is not.
func (v *view) knockout(option string) (k decision.Knockout, ok bool) {
	i := slices.IndexFunc(v.Decision.Out, func(k decision.Knockout) bool { return k.Option == option })
	if i < 0 {
		return decision.Knockout{}, false
	}
	return v.Decision.Out[i], true
}

// survives tells whether an option does all that is required.
func (v *view) survives(option string) bool { return slices.Contains(v.Decision.Survivors, option) }

// inOrder are the surviving locks as they are shown: by rank, then the dominated, then the others.
func (v *view) inOrder() []string {
	var all []string
	add := func(option string) {
		if o, known := v.options[option]; known && o.Kind != decision.NoLock && v.survives(option) && !slices.Contains(all, option) {
			all = append(all, option)
		}
	}
	for _, s := range v.Decision.Scores {
		add(s.Option)
	}
	for _, d := range v.Decision.Dominated {
		add(d.Option)
	}
	for _, o := range v.Decision.Survivors {
		add(o)
	}
	return all
}

// optionOf is the option that something observed of a lock on a deployment speaks of: one whose answers rest on it, or else
// one of its name; empty where it is none of them.
func (v *view) optionOf(id, lock, deployment string) string {
	for _, c := range v.Cells {
		if slices.Contains(c.Evidence, id) {
			return c.Option
		}
	}
	for _, name := range []string{lock + "@" + deployment, lock} {
		if _, known := v.options[name]; known {
			return name
		}
	}
	return ""
}

// amount writes a figure with its unit.
func amount(value float64, unit string) string {
	switch unit {
	case "us":
		unit = "µs"
	case "ratio", "count":
		unit = ""
	}
	return strings.TrimSpace(format.Significant(value) + " " + unit)
}

// metricTitle is what a figure is called.
func metricTitle(name string) string {
	if m, known := bench.FindMetric(name); known {
		return m.Title
	}
	return name
}
