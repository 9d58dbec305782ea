package run

import (
	"strings"

	"lockbench/checker"
	"lockbench/histories"
)

// enoughForRates is the number of trials of a cell from which the report has a page about rates.
const enoughForRates = 10

// rate states in how many trials of a cell properties of a lock were violated.
type rate struct {
	Label      string // name of the lock, with @deployment unless it is the usual one
	Where      string // workload and fault
	Properties string
	Violated   string // number of trials, with the 95 % interval of the rate
	Undecided  int
}

// Repeated reports whether a cell has enough trials for a rate.
func (r *Results) Repeated() bool {
	for _, o := range r.Cells {
		if o.Trials >= enoughForRates {
			return true
		}
	}
	return false
}

// Rates returns the rates of the properties that are expected to hold, or of those expected to be violated. Properties of a cell
// with the same rate share a row.
func (r *Results) Rates(violated bool) (rows []rate) {
	want := histories.ToHold
	if violated {
		want = histories.ToBeViolated
	}
	var of []Observation
	for _, o := range r.Cells {
		if o.Expected == want && o.Observed != checker.NotApplicable {
			of = append(of, o)
		}
	}
	type key struct {
		lock, deployment, scenario, workload, fault string
		trials, violated, undecided                 int
	}
	label := r.Run.labels()
	for _, same := range grouped(of, func(o *Observation) key {
		return key{o.Lock, o.Deployment, o.Scenario, o.Workload, o.Fault, o.Trials, o.ViolatedIn, o.UndecidedIn}
	}) {
		first := same[0]
		var names []string
		for _, o := range same {
			names = append(names, o.Property)
		}
		rows = append(rows, rate{label(first.Lock, first.Deployment), first.Where(), strings.Join(names, ", "),
			Rate(first.ViolatedIn, first.Trials), first.UndecidedIn})
	}
	return rows
}
