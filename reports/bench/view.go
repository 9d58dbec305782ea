package bench

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

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

// estimate returns the estimate of a metric for a lock under one set of conditions. If the metric was not measured or
// is invalid, ok is false.
func (v *view) estimate(subject, point, metric string) (e stats.Estimate, ok bool) {
	if row, found := v.Row(subject, point); found {
		return row.estimate(metric)
	}
	return e, false
}

func (v *view) ranking(point string) []Ranked {
	r, _ := find(v.Rankings, func(r Ranking) bool { return r.Point == point })
	return r.Order
}

func (v *view) ranked(point string) []Ranked {
	return filter(v.ranking(point), func(r Ranked) bool { return r.Rank > 0 })
}

func (v *view) rowsAt(point string) (rows []*Row) {
	for i := range v.Rows {
		if v.Rows[i].Point == point {
			rows = append(rows, &v.Rows[i])
		}
	}
	return rows
}

func (v *view) first(point string) []string {
	return namesOf(filter(v.ranking(point), func(r Ranked) bool { return r.Rank == 1 }))
}

func namesOf(all []Ranked) []string { return collect(all, func(r Ranked) string { return r.Subject }) }

func collect[T, U any](all []T, of func(T) U) (got []U) {
	for _, x := range all {
		got = append(got, of(x))
	}
	return got
}

// compared returns all sets of conditions, except those of the section for self-checks and baselines.
func (v *view) compared() []Point {
	return filter(v.Plan.Points, func(p Point) bool { return p.Section != ControlSection })
}

func (v *view) sections() (all []string) {
	for _, p := range v.compared() {
		all = appendUnique(all, p.Section)
	}
	return all
}

func appendUnique[T comparable](all []T, value T) []T {
	if slices.Contains(all, value) {
		return all
	}
	return append(all, value)
}

func (v *view) pointsOf(section string) []Point {
	return filter(v.Plan.Points, func(p Point) bool { return p.Section == section })
}

func describe(p Point) string {
	return conditions(p, format.Plural(p.Clients, "client"), format.Plural(p.Keys, "key"), holdText(p))
}

// conditions joins descriptions of test conditions. It appends the arrival rate and the fault, if any.
func conditions(p Point, parts ...string) string {
	if p.Rate > 0 {
		parts = append(parts, arrivalText(p))
	}
	if hasFault(p) {
		parts = append(parts, "under "+p.Fault)
	}
	return strings.Join(parts, ", ")
}

func hasFault(p Point) bool { return p.Fault != "" && p.Fault != "none" }

func holdText(p Point) string {
	if p.HoldNS == 0 {
		return "no hold"
	}
	return "held " + format.Setting(p.HoldNS)
}

func arrivalText(p Point) string {
	if p.Arrivals == Closed || p.Arrivals == "" {
		return "closed loop"
	}
	return fmt.Sprintf("%s arrivals at %s /s", p.Arrivals, format.Significant(p.Rate))
}

// describeSettings describes the settings that distinguish the conditions p from the others in the same section. An
// example is "16 clients".
func (v *view) describeSettings(p Point) string {
	var parts []string
	for i, trait := range []func(Point) string{
		func(p Point) string { return format.Plural(p.Clients, "client") },
		func(p Point) string { return format.Plural(p.Keys, "key") },
		holdText,
		arrivalText,
		func(p Point) string { return "fault " + p.Fault },
	} {
		differs := slices.ContainsFunc(v.pointsOf(p.Section), func(q Point) bool { return trait(q) != trait(p) })
		if differs && (i != 1 || p.Keys != p.Clients) { // the usual case, one key per client, is not mentioned
			parts = append(parts, trait(p))
		}
	}
	return strings.Join(parts, ", ")
}

// named returns the parameter text. If the bench has several sections, the section name precedes the text.
func (v *view) named(section, text string) string {
	switch {
	case text == "":
		return section
	case section != ControlSection && len(v.sections()) == 1:
		return text
	}
	return section + ", " + text
}

func (v *view) name(p Point) string { return v.named(p.Section, v.describeSettings(p)) }
