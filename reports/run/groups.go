package run

import (
	"cmp"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
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
}

// claim is one expectation of one lock under one fault, held against what every workload showed of it. The
// gravest observation decides.
type claim struct {
	Lock     string // as it is shown, with its deployment where it ran on several
	Property string
	Fault    string
	Expected histories.Expectation
	Because  string
	Gravest  Observation
	Seen     []Observation // where it applied
	Counts   checker.Counts
	Times    int // violations
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
		o := seen[0]
		c := claim{Property: o.Property, Fault: o.Fault, Expected: o.Expected, Because: o.Because, Gravest: o}
		for _, o := range seen {
			if o.Observed == checker.NotApplicable {
				continue
			}
			if len(c.Seen) == 0 || weightOf(o) > weightOf(c.Gravest) {
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

// weightOf orders scores by how much they need to be seen.
func weightOf(o Observation) int {
	return slices.Index([]checker.Score{checker.Measured, checker.Kept, checker.Caught, checker.LeftUndecided, checker.Missed, checker.Broken}, o.Score)
}

// where names the cells a claim was seen in, each with its mark where they differ; of one that was seen in
// none, a cell that it was looked for in.
func (c claim) where() string {
	mixed := slices.ContainsFunc(c.Seen, func(o Observation) bool { return o.Score != c.Gravest.Score })
	var names []string
	for _, o := range c.Seen {
		name := o.Workload
		if mixed {
			name = o.badge().Symbol + " " + name
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		names = []string{c.Gravest.Workload}
	}
	text := strings.Join(names, ", ")
	if c.Fault != "none" {
		text += " + " + strings.ReplaceAll(c.Fault, "+", " + ")
	}
	return text
}

// groups are by lock, or by scenario where the run has scenarios: what belongs to none of them then comes last.
func (r *Results) groups() []group {
	label := r.Run.labels()
	var all []group
	for i, seen := range grouped(r.inOrder(), func(o *Observation) [2]string {
		if len(r.Run.Scenarios) > 0 {
			return [2]string{o.Scenario}
		}
		return [2]string{o.Lock, o.Deployment}
	}) {
		g := r.groupOf(&seen[0], label)
		g.ID += format.Count(i + 1)
		var main []Observation
		for _, o := range seen {
			if o.inTable() {
				main = append(main, o)
			} else if o.Observed != checker.NotApplicable {
				g.Rest = append(g.Rest, o)
			}
		}
		g.Main = claims(main)
		several := slices.ContainsFunc(g.Main, func(c claim) bool { return c.Fault != g.Main[0].Fault })
		for j := range g.Main {
			c := &g.Main[j]
			c.Lock = label(c.Gravest.Lock, c.Gravest.Deployment)
			if g.Scenario && several {
				c.Lock += " under " + c.Fault
			}
		}
		all = append(all, g)
	}
	return all
}

// inOrder are the observations in the order of the plan, or of the scenarios where the run has any.
func (r *Results) inOrder() []Observation {
	rank := map[string]int{"": len(r.Run.Scenarios)}
	for i, s := range r.Run.Scenarios {
		rank[s.Name] = i
	}
	all := slices.Clone(r.Cells)
	slices.SortStableFunc(all, func(a, b Observation) int { return cmp.Compare(rank[a.Scenario], rank[b.Scenario]) })
	return all
}

// groupOf begins the group that an observation belongs to.
func (r *Results) groupOf(o *Observation, label func(lock, deployment string) string) group {
	if len(r.Run.Scenarios) > 0 {
		g := group{ID: "scenario-", Label: cmp.Or(o.Scenario, "no scenario"), Scenario: true}
		for _, s := range r.Run.Scenarios {
			if s.Name == o.Scenario {
				g.Title, g.Warning, g.Doc = s.Title, s.Warning, s.Doc
			}
		}
		return g
	}
	g := group{ID: "lock-", Label: label(o.Lock, o.Deployment), Deployment: o.Deployment}
	for _, d := range r.Run.Locks {
		if d.Name == o.Lock {
			g.Doc = d.Doc
		}
	}
	return g
}
