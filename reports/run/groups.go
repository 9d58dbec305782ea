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

// same tells whether an observation belongs to a claim.
func (c *claim) same(o Observation) bool {
	g := &c.Gravest
	return g.Lock == o.Lock && g.Deployment == o.Deployment && g.Scenario == o.Scenario &&
		c.Property == o.Property && c.Fault == o.Fault && c.Expected == o.Expected && c.Because == o.Because
}

// claims gathers observations, which come cell by cell. One that does not apply in a workload is left out;
// one that applies in none stays, as such.
func claims(all []Observation) []claim {
	var out []claim
	for _, o := range all {
		i := slices.IndexFunc(out, func(c claim) bool { return c.same(o) })
		if i < 0 {
			i = len(out)
			out = append(out, claim{Property: o.Property, Fault: o.Fault, Expected: o.Expected, Because: o.Because, Gravest: o})
		}
		if o.Observed == checker.NotApplicable {
			continue
		}
		c := &out[i]
		if len(c.Seen) == 0 || weightOf(o) > weightOf(c.Gravest) {
			c.Gravest = o
		}
		c.Seen = append(c.Seen, o)
		c.Counts = sum(c.Counts, o.Counts)
		c.Times += o.Violations
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
	at := map[string]int{}
	var all []group
	var main [][]Observation
	for _, o := range r.inOrder() {
		key := o.Lock + "\x00" + o.Deployment
		if len(r.Run.Scenarios) > 0 {
			key = o.Scenario
		}
		i, seen := at[key]
		if !seen {
			i = len(all)
			at[key] = i
			all = append(all, r.groupOf(&o, label))
			all[i].ID += format.Count(i + 1)
			main = append(main, nil)
		}
		switch {
		case o.inTable():
			main[i] = append(main[i], o)
		case o.Observed != checker.NotApplicable:
			all[i].Rest = append(all[i].Rest, o)
		}
	}
	for i := range all {
		all[i].Main = claims(main[i])
		for j := range all[i].Main {
			c := &all[i].Main[j]
			c.Lock = label(c.Gravest.Lock, c.Gravest.Deployment)
			if all[i].Scenario && severalFaults(all[i].Main) {
				c.Lock += " under " + c.Fault
			}
		}
	}
	return all
}

func severalFaults(all []claim) bool {
	return slices.ContainsFunc(all, func(c claim) bool { return c.Fault != all[0].Fault })
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
