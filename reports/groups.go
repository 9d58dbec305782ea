package reports

import "lockbench/checker"

// group is all observations of one lock, in the order of the plan.
type group struct {
	ID         string // of the heading on the page
	Label      string
	Deployment string
	Doc        string
	Main       []Observation // claims, controls and what was violated
	Rest       []Observation // measured without a claim, not violated, but applicable
}

// block is the observations of one cell: they share what gives them weight.
type block struct {
	Where  string
	Counts checker.Counts
	Rows   []Observation
}

// blocks splits observations, which come cell by cell.
func blocks(all []Observation) []block {
	var cells []block
	for _, o := range all {
		if n := len(cells); n == 0 || cells[n-1].Where != o.where() {
			cells = append(cells, block{Where: o.where(), Counts: o.Counts})
		}
		last := &cells[len(cells)-1]
		last.Rows = append(last.Rows, o)
	}
	return cells
}

func (r *Results) groups() []group {
	label := labels(r.Run.Plan)
	docs := map[string]string{}
	for _, d := range r.Run.Locks {
		docs[d.Name] = d.Doc
	}
	at := map[string]int{}
	var all []group
	for _, o := range r.Cells {
		key := o.Lock + "\x00" + o.Deployment
		i, seen := at[key]
		if !seen {
			i = len(all)
			at[key] = i
			all = append(all, group{
				ID: "lock-" + count(i+1), Label: label(o.Lock, o.Deployment), Deployment: o.Deployment, Doc: docs[o.Lock],
			})
		}
		g := &all[i]
		switch {
		case o.inTable():
			g.Main = append(g.Main, o)
		case o.Observed != checker.NotApplicable:
			g.Rest = append(g.Rest, o)
		}
	}
	return all
}
