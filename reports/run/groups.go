package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// group is all observations of one lock, or of one scenario where the run has any, in the order of the plan.
type group struct {
	ID         string // of the heading on the page
	Label      string
	Deployment string
	Title      string // of a scenario
	Warning    string // of a scenario
	Doc        string
	Scenario   bool          // it is one
	Main       []claim       // claims, controls and what was violated
	Rest       []Observation // measured without a claim, not violated, but applicable
	applicable []Observation
}

// claim is one expectation of one lock under one fault, held against what every workload showed of it. The gravest
// observation decides.
type claim struct {
	Gravest Observation
	Label   string        // of the lock, with its deployment where it ran on several
	Seen    []Observation // Where it applied
	Counts  checker.Counts
	Times   int // violations
}

// grouped returns the values with each key together, in the order in which the keys first come.
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

// unique returns each value once, in the order in which they first come.
func unique[T comparable](all []T) []T {
	var once []T
	for _, same := range grouped(all, func(v *T) T { return *v }) {
		once = append(once, same[0])
	}
	return once
}

// claims gathers observations, which come cell by cell. One that does not apply in a workload is left out;
// one that applies in none stays, as such.
func claims(all []Observation) []claim {
	type key struct {
		lock, deployment, scenario, property, fault, because string
		expected                                             histories.Expectation
	}
	var out []claim
	for _, seen := range grouped(all, func(o *Observation) key {
		return key{o.Lock, o.Deployment, o.Scenario, o.Property, o.Fault, o.Because, o.Expected}
	}) {
		c := claim{Gravest: seen[0]}
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

// Where names the cells a claim was seen in, each with its mark where they differ; of one that was seen in
// none, a cell that it was looked for in.
func (c claim) Where() string {
	mixed := slices.ContainsFunc(c.Seen, func(o Observation) bool { return o.Score != c.Gravest.Score })
	var names []string
	for _, o := range c.Seen {
		name := o.Workload
		if mixed {
			name = o.Badge().Symbol + " " + name
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		names = []string{c.Gravest.Workload}
	}
	return cellWords("", strings.Join(names, ", "), c.Gravest.Fault)
}

// groups are by lock, or by scenario where the run has scenarios: what belongs to none of them then comes last.
func (r *Results) groups() []group {
	cells, byScenario := r.Cells, len(r.Run.Scenarios) > 0
	if byScenario {
		rank := map[string]int{"": len(r.Run.Scenarios)}
		for i, s := range r.Run.Scenarios {
			rank[s.Name] = i
		}
		cells = slices.Clone(cells)
		slices.SortStableFunc(cells, func(a, b Observation) int { return rank[a.Scenario] - rank[b.Scenario] })
	}
	var all []group
	for i, seen := range grouped(cells, func(o *Observation) [2]string {
		if byScenario {
			return [2]string{o.Scenario}
		}
		return [2]string{o.Lock, o.Deployment}
	}) {
		g := r.groupOf(&seen[0], byScenario)
		g.ID += strconv.Itoa(i + 1)
		g.fill(seen, r.Run.labels())
		all = append(all, g)
	}
	return all
}

// groupOf begins the group that an observation belongs to.
func (r *Results) groupOf(o *Observation, byScenario bool) group {
	if byScenario {
		g := group{ID: "scenario-", Label: cmp.Or(o.Scenario, "no scenario"), Scenario: true}
		for _, s := range r.Run.Scenarios {
			if s.Name == o.Scenario {
				g.Title, g.Warning, g.Doc = s.Title, s.Warning, s.Doc
			}
		}
		return g
	}
	g := group{ID: "lock-", Label: r.Run.labels()(o.Lock, o.Deployment), Deployment: o.Deployment}
	for _, d := range r.Run.Locks {
		if d.Name == o.Lock {
			g.Doc = d.Doc
		}
	}
	return g
}

func (g *group) fill(seen []Observation, label func(lock, deployment string) string) {
	var main []Observation
	for _, o := range seen {
		applies := o.Observed != checker.NotApplicable
		if applies {
			g.applicable = append(g.applicable, o)
		}
		if o.inTable() {
			main = append(main, o)
		} else if applies {
			g.Rest = append(g.Rest, o)
		}
	}
	g.Main = claims(main)
	several := slices.ContainsFunc(main, func(o Observation) bool { return o.Fault != main[0].Fault })
	for i, c := range g.Main {
		g.Main[i].Label = label(c.Gravest.Lock, c.Gravest.Deployment)
		if g.Scenario && several {
			g.Main[i].Label += " under " + c.Gravest.Fault
		}
	}
}

// glance is how a property came out for a group over all workloads and faults, gravest first.
type glance struct {
	Scores []html.Badge // their words are numbers
	Title  string
}

// Glances returns a group's glance of each property.
func (g group) Glances(properties []string) []glance {
	var row []glance
	for _, property := range properties {
		row = append(row, g.glance(property))
	}
	return row
}

// glance counts the scores of a property. What was measured and not violated shows only if there is nothing else.
func (g group) glance(property string) glance {
	n, gravity := map[html.Badge]int{}, map[html.Badge]int{}
	for _, o := range g.applicable {
		if o.Property == property {
			n[o.Badge()]++
			gravity[o.Badge()] = o.gravity()
		}
	}
	var shown glance
	var words []string
	for _, b := range slices.SortedFunc(maps.Keys(n), func(a, b html.Badge) int { return gravity[b] - gravity[a] }) {
		word := strings.TrimPrefix(b.Class, "score-")
		if gravity[b] == 0 {
			word += " without a claim"
		}
		words = append(words, fmt.Sprintf("%d %s", n[b], word))
		if gravity[b] > 0 || len(shown.Scores) == 0 {
			b.Word = strconv.Itoa(n[b])
			shown.Scores = append(shown.Scores, b)
		}
	}
	shown.Title = format.Joined(words)
	return shown
}
