package decision

import "slices"

// Trim leaves of the evidence what a decision by these needs rests on, or one that another need would change, and numbers it
// anew. The decision by what is left is the same.
func Trim(n Needs, options []Option, e Evidence) Evidence {
	used := map[string]bool{}
	use := func(ids []string) {
		for _, id := range ids {
			used[id] = true
		}
	}
	cells := func(n Needs) {
		for _, c := range newDeciding(n, options, e).decide().Cells {
			use(c.Evidence)
		}
	}
	for _, v := range variations(n) {
		varied := n
		v.change(&varied)
		cells(varied)
	}
	r := Decide(n, options, e)
	for _, c := range r.Cells {
		use(c.Evidence)
	}
	said := slices.Concat(r.Decision.For, r.Decision.Against, r.Decision.Conditions)
	if r.Lease != nil {
		said = append(said, r.Lease.Inputs...)
	}
	for _, s := range said {
		use(s.Evidence)
	}
	left := e
	left.Findings, left.Figures = []Finding{}, []Figure{}
	for _, f := range e.Findings {
		if used[f.ID] || r.speaksOf(f) {
			left.Findings = append(left.Findings, f)
		}
	}
	for _, f := range e.Figures {
		if used[f.ID] {
			left.Figures = append(left.Figures, f)
		}
	}
	left.Times = []RecordedTime{}
	for _, t := range e.Times {
		if used[t.ID] {
			left.Times = append(left.Times, t)
		}
	}
	left.Stood = []StoodStill{}
	for _, t := range e.Stood { // of the lock that is advised
		if r.Lease != nil && t.Lock == r.Lease.Option {
			left.Stood = append(left.Stood, t)
		}
	}
	return left.numbered()
}

// speaksOf tells whether a finding keeps a recommended lock's table from being quoted in its place.
func (r *Report) speaksOf(f Finding) bool {
	return quoted(f.Property) && slices.ContainsFunc(r.Decision.Recommended, func(o string) bool { return lockOf(o) == f.Lock })
}
