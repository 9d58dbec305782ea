package decision

import (
	"slices"

	"lockbench/reports/selection"
)

// Trim leaves of the evidence what a decision by these needs rests on, or one that another need would change, and numbers it
// anew. The decision by what is left is the same.
func Trim(n selection.Needs, options []selection.Option, e selection.Evidence) selection.Evidence {
	r := Decide(n, options, e)
	cells := slices.Concat(r.Cells, r.Decision.Against)
	for _, v := range variations(n) {
		varied := n
		v.change(&varied)
		cells = append(cells, newDeciding(varied, options, e).decide().Cells...)
	}
	advised := ""
	if r.Lease != nil {
		advised = r.Lease.Option
		for _, in := range r.Lease.Inputs {
			cells = append(cells, selection.Cell{Evidence: in.Evidence})
		}
	}
	used := cited(cells)
	quotes := func(f selection.Finding) bool { // it keeps a recommended lock's table from being quoted in its place
		return quoted(f.Property) && slices.ContainsFunc(r.Decision.Recommended, func(o string) bool { return selection.Option{Name: o}.Lock() == f.Lock })
	}
	return numbered(selection.Evidence{
		Sources:  e.Sources,
		Findings: filtered(e.Findings, func(f selection.Finding) bool { return used[f.ID] || quotes(f) }),
		Figures:  filtered(e.Figures, func(f selection.Figure) bool { return used[f.ID] }),
		Times:    filtered(e.Times, func(t selection.RecordedTime) bool { return used[t.ID] }),
		Stood:    filtered(e.Stood, func(s selection.StoodStill) bool { return s.Lock == advised }),
	})
}

// filtered returns what is accepted; never nil, and all is left as it is.
func filtered[T any](all []T, accept func(T) bool) []T {
	left := []T{}
	for _, v := range all {
		if accept(v) {
			left = append(left, v)
		}
	}
	return left
}
