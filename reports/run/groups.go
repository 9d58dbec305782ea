package run

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// group holds all results of one lock or, if the run has scenarios, of one scenario.
type group struct {
	ID         string // id of the group in the HTML page
	Label      string
	Deployment string
	Title      string // title of the scenario; empty if the group belongs to a lock
	Warning    string // published warning about the failure mode that the scenario tests; empty if the group has no scenario
	Doc        string
	Scenario   bool    // whether the results belong to a scenario (a known failure mode), not to one lock
	Main       []check // checks with an expectation or a violation
	Rest       []check // results for properties that apply, are not violated, and have no expectation
	applicable []Observation
}

// check is the worst result for one property of one lock under one fault. It combines all workloads with the same
// expectation.
type check struct {
	Gravest Observation
	Label   string        // name of the lock; with @deployment, unless the deployment is the usual one of the lock
	Seen    []Observation // results of the workloads to which the property applies
	Counts  checker.Counts
	Times   int // number of violations in all trials
}

// Outcome returns the worst result as text. The text states in how many trials the property was violated or undecided.
// For a single trial, it states the number of violations, or the verdict if nothing was violated.
func (c check) Outcome() string {
	switch text := inTrials(c.Gravest); {
	case text != "":
		return text
	case c.Times > 0:
		return format.Plural(c.Times, "violation")
	}
	return observed(c.Gravest.Observed)
}

// grouped groups values by key. The groups are in the order of their first values.
func grouped[T any, K comparable](all []T, key func(*T) K) [][]T {
	var groups [][]T
	at := map[K]int{}
	for i := range all {
		k := key(&all[i])
		if _, seen := at[k]; !seen {
			at[k] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], all[i])
	}
	return groups
}

// unique removes duplicates. It keeps the first occurrence of each value.
func unique[T comparable](all []T) []T {
	var once []T
	for _, same := range grouped(all, func(v *T) T { return *v }) {
		once = append(once, same[0])
	}
	return once
}

// checks returns one check for each set of observations that differ only in the workload. It omits workloads to which
// the property does not apply.
func checks(all []Observation) []check {
	type key struct {
		lock, deployment, scenario, property, fault, because string
		expected                                             histories.Expected
	}
	var out []check
	for _, seen := range grouped(all, func(o *Observation) key {
		return key{o.Lock, o.Deployment, o.Scenario, o.Property, o.Fault, o.Because, o.Expected}
	}) {
		c := check{Gravest: seen[0]}
		for _, o := range seen {
			if o.Observed == checker.NotApplicable {
				continue
			}
			if len(c.Seen) == 0 || o.gravity() > c.Gravest.gravity() {
				c.Gravest = o
			}
			c.Seen = append(c.Seen, o)
			c.Counts = sum(c.Counts, o.Counts)
			c.Times += o.Violations
		}
		out = append(out, c)
	}
	return out
}

// Where returns the workloads and the fault of a check. If the results differ, each workload has a symbol for the
// result.
func (c check) Where() string {
	mixed := slices.ContainsFunc(c.Seen, func(o Observation) bool { return o.Result != c.Gravest.Result })
	var names []string
	for _, o := range c.Seen {
		name := o.Workload
		if mixed {
			name = o.Badge().Symbol + " " + name
		}
		names = append(names, name)
	}
	return cellWords("", cmp.Or(strings.Join(names, ", "), c.Gravest.Workload), c.Gravest.Fault)
}

// byLock groups the observations by lock and deployment, in the order of the plan.
func (r *Results) byLock() [][]Observation {
	return grouped(r.Cells, func(o *Observation) [2]string { return [2]string{o.Lock, o.Deployment} })
}

// groups returns the results grouped by lock or, if the run has scenarios, by scenario. Results without a scenario are
// last.
func (r *Results) groups() (all []group) {
	label := r.Run.labels()
	add := func(g group, seen []Observation) {
		g.ID += strconv.Itoa(len(all) + 1)
		g.fill(seen, label)
		all = append(all, g)
	}
	if len(r.Run.Scenarios) > 0 {
		for _, s := range append(slices.Clone(r.Run.Scenarios), Scenario{}) {
			seen := slices.DeleteFunc(slices.Clone(r.Cells), func(o Observation) bool { return o.Scenario != s.Name })
			if len(seen) > 0 {
				add(group{ID: "scenario-", Label: cmp.Or(s.Name, "no scenario"), Scenario: true, Title: s.Title, Warning: s.Warning, Doc: s.Doc}, seen)
			}
		}
		return all
	}
	docs := map[string]string{}
	for _, l := range r.Run.Locks {
		docs[l.Name] = l.Doc
	}
	for _, seen := range r.byLock() {
		o := seen[0]
		add(group{ID: "lock-", Label: label(o.Lock, o.Deployment), Deployment: o.Deployment, Doc: docs[o.Lock]}, seen)
	}
	return all
}

func (g *group) fill(seen []Observation, label func(lock, deployment string) string) {
	var main, rest []Observation
	for _, o := range seen {
		applies := o.Observed != checker.NotApplicable
		if applies {
			g.applicable = append(g.applicable, o)
		}
		if o.inTable() {
			main = append(main, o)
		} else if applies {
			rest = append(rest, o)
		}
	}
	g.Main, g.Rest = checks(main), checks(rest)
	several := slices.ContainsFunc(main, func(o Observation) bool { return o.Fault != main[0].Fault })
	for i, c := range g.Main {
		g.Main[i].Label = label(c.Gravest.Lock, c.Gravest.Deployment)
		if g.Scenario && several {
			g.Main[i].Label += " under " + c.Gravest.Fault
		}
	}
}

// glance is a summary of the results for one property, worst first.
type glance struct {
	Results []html.Badge // a badge for each kind of result, with the number of results
	Title   string
}

// Glances returns a summary for each property. Observations without an expectation or a violation are shown only if all
// observations are of this kind.
func (g group) Glances(properties []string) (row []glance) {
	slices.SortStableFunc(g.applicable, func(a, b Observation) int { return b.gravity() - a.gravity() })
	for _, property := range properties {
		seen := slices.DeleteFunc(slices.Clone(g.applicable), func(o Observation) bool { return o.Property != property })
		var shown glance
		var words []string
		for _, same := range grouped(seen, func(o *Observation) html.Badge { return o.Badge() }) {
			b, n := same[0].Badge(), strconv.Itoa(len(same))
			word := n + " " + strings.TrimPrefix(b.Class, "result-")
			if same[0].gravity() == 0 {
				word += " without an expectation"
			}
			if words = append(words, word); same[0].gravity() > 0 || len(words) == 1 {
				b.Word = n
				shown.Results = append(shown.Results, b)
			}
		}
		shown.Title = format.Joined(words)
		row = append(row, shown)
	}
	return row
}
