package reports

import (
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
)

// group is all observations of one lock, in the order of the plan.
type group struct {
	ID         string // of the heading on the page
	Label      string
	Deployment string
	Doc        string
	Main       []claim       // claims, controls and what was violated
	Rest       []Observation // measured without a claim, not violated, but applicable
}

// claim is one expectation of one lock under one fault, held against what every workload showed of it. The
// gravest observation decides.
type claim struct {
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
	return c.Property == o.Property && c.Fault == o.Fault && c.Expected == o.Expected && c.Because == o.Because
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
			name = markOf(o) + " " + name
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

func (r *Results) groups() []group {
	label := labels(r.Run.Plan)
	docs := map[string]string{}
	for _, d := range r.Run.Locks {
		docs[d.Name] = d.Doc
	}
	at := map[string]int{}
	var all []group
	var main [][]Observation
	for _, o := range r.Cells {
		key := o.Lock + "\x00" + o.Deployment
		i, seen := at[key]
		if !seen {
			i = len(all)
			at[key] = i
			all = append(all, group{
				ID: "lock-" + count(i+1), Label: label(o.Lock, o.Deployment), Deployment: o.Deployment, Doc: docs[o.Lock],
			})
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
	}
	return all
}
