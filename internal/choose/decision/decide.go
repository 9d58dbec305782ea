// Package decision turns what a team needs and what was observed into a recommendation: needs, options and evidence go in, a
// selection.Report comes out. It measures nothing and judges no history: the same needs and the same evidence give the same
// report.
package decision

import (
	"cmp"
	"slices"
	"time"

	"lockbench/reports/selection"
)

// Decide works out a recommendation. Options are in display order, those without a lock first.
//
// Requirements come first: an option that is seen not to meet one, or of which that is not known, is eliminated, whatever
// else it does well. Of the rest, something that replaces a lock goes before every lock. Locks are then compared by their
// figures: those that another equals in everything are set aside, and the others are scored.
func Decide(n selection.Needs, options []selection.Option, e selection.Evidence) *selection.Report {
	if clean, err := selection.Scrubbed(&selection.Report{Needs: n, Options: options, Evidence: e}); err == nil { // it is data: nothing can go wrong
		n, options, e = clean.Needs, clean.Options, clean.Evidence
	}
	d := newDeciding(n, options, e)
	r := d.decide()
	if s := d.scoring; s != nil {
		r.Decision.Weighings, r.Decision.Wins = s.weighings()
		r.Decision.Turns = s.turns(r.Decision.Scores[0].Option)
	}
	r.Decision.Changes = d.changes(r.Decision)
	if a := d.leaseAdvice(r); a != nil {
		r.Lease = &a.LeaseAdvice
	}
	r.Decision.Against = d.against(r)
	return r
}

// deciding is a decision under way.
type deciding struct {
	selection.Evidence
	needs   selection.Needs
	options []selection.Option
	rules   []rule      // that these needs ask for
	by      []criterion // all, with their weights
	ttl     map[selection.Lease]time.Duration
	scoring *scoring // of the Pareto set; nil: there is none
}

func newDeciding(n selection.Needs, options []selection.Option, e selection.Evidence) *deciding {
	d := &deciding{Evidence: e, needs: n, options: options, by: weighed(n), ttl: map[selection.Lease]time.Duration{}}
	for _, l := range []selection.Lease{selection.Fixed, selection.Renewed} {
		d.ttl[l] = AdviseTTL(n, l)
	}
	for _, r := range rules() {
		if r.asked(n) {
			d.rules = append(d.rules, r)
		}
	}
	return d
}

// decide returns the report without what follows from the decision: its sensitivity, changes, lease and disadvantages.
func (d *deciding) decide() *selection.Report {
	r := &selection.Report{Version: selection.Version, Needs: d.needs, Options: d.options, Evidence: d.Evidence,
		Requirements: []selection.Requirement{}, Criteria: []selection.Criterion{}, Cells: []selection.Cell{}, LeasesNS: map[selection.Lease]int64{},
		Decision: selection.Decision{Out: []selection.Elimination{}, Lock: []string{}, Recommended: []string{}}}
	for l, ttl := range d.ttl {
		r.LeasesNS[l] = int64(ttl)
	}
	for _, rule := range d.rules {
		r.Requirements = append(r.Requirements, rule.requirement())
	}
	for _, c := range d.by {
		r.Criteria = append(r.Criteria, c.Criterion)
	}
	var left, locks []selection.Option
	for _, o := range d.options {
		cells := d.judge(o)
		r.Cells = append(r.Cells, cells...)
		if k := d.eliminated(o, cells); k != nil {
			r.Decision.Out = append(r.Decision.Out, *k)
			continue
		}
		left = append(left, o)
		if o.Kind == selection.ALock {
			locks = append(locks, o)
		}
	}
	r.Decision.Survivors = names(left)
	values := map[string]map[string]value{}
	for _, o := range locks {
		values[o.Name] = map[string]value{}
		for _, c := range d.by {
			v := d.value(o, c)
			values[o.Name][c.Name] = v
			r.Cells = append(r.Cells, v.cell(o, c.Name))
		}
	}
	d.compare(&r.Decision, locks, values)
	recommend(&r.Decision, left)
	return r
}

// recommend settles the outcome.
func recommend(to *selection.Decision, left []selection.Option) {
	for _, s := range to.Scores {
		if s.Rank == 1 {
			to.Lock = append(to.Lock, s.Option)
		}
	}
	switch {
	case len(left) == 0:
		to.Outcome = selection.NothingFits
	case left[0].Kind == selection.NoLock:
		to.Outcome, to.Recommended = selection.NoLockNeeded, []string{left[0].Name}
	case len(to.Lock) > 1:
		to.Outcome, to.Recommended = selection.ATie, to.Lock
	default:
		to.Outcome, to.Recommended = selection.OneLock, to.Lock
	}
}

func names(options []selection.Option) []string {
	list := []string{}
	for _, o := range options {
		list = append(list, o.Name)
	}
	return list
}

func (d *deciding) option(name string) selection.Option {
	return d.options[slices.IndexFunc(d.options, func(o selection.Option) bool { return o.Name == name })]
}

// judge holds an option to each requirement.
func (d *deciding) judge(o selection.Option) []selection.Cell {
	var cells []selection.Cell
	for _, r := range d.rules {
		answer := r.lock
		if o.Kind == selection.NoLock {
			answer = r.instead
		}
		c := answer(d, o)
		c.Option, c.Of = o.Name, r.name
		cells = append(cells, c)
	}
	return cells
}

// eliminated returns why an option is out; nil: it is not. cells are those of the rules, in their order.
func (d *deciding) eliminated(o selection.Option, cells []selection.Cell) *selection.Elimination {
	k := &selection.Elimination{Option: o.Name, Fails: []string{}, Unsure: []string{}}
	gravest := -1
	for i, c := range cells {
		switch c.Answer {
		case selection.Yes:
			continue
		case selection.No:
			k.Fails = append(k.Fails, c.Of)
		default:
			k.Unsure = append(k.Unsure, c.Of)
		}
		if g := gravity(c, d.rules[i]); g > gravest {
			gravest, k.Reason = g, c.Of
		}
	}
	if gravest < 0 {
		return nil
	}
	return k
}

// gravity orders reasons: what no trial could change first, then what is violated, what concerns safety, what was measured.
func gravity(c selection.Cell, r rule) int {
	no := c.Answer == selection.No
	if no && !r.tried {
		return 8
	}
	g := 0
	for bit, holds := range []bool{c.Tag == selection.Measured, r.safety, no} {
		if holds {
			g += 1 << bit
		}
	}
	return g
}

// against returns what speaks against what is recommended: violations that no requirement asks about, what the lock's own
// table expects to be violated, points of the lease curve that trials did not confirm, and criteria in which it is not best.
func (d *deciding) against(r *selection.Report) []selection.Cell {
	list := []selection.Cell{}
	for _, name := range r.Decision.Recommended {
		o := d.option(name)
		if o.Kind == selection.NoLock {
			list = append(list, selection.Cell{Option: name, Reason: selection.NothingMeasured, Tag: selection.Assumed})
			continue
		}
		list = append(append(list, d.violations(o, r.Cells)...), d.documented(o)...)
		if r.Lease != nil && r.Lease.Option == name && slices.ContainsFunc(r.Lease.Confirmed, func(c selection.Confirmed) bool { return !c.Agrees }) {
			list = append(list, selection.Cell{Option: name, Of: "lease", Reason: selection.LeaseNotConfirmed, Tag: selection.Measured})
		}
		list = append(list, notBest(r, name)...)
	}
	return list
}

// notBest returns the criteria in which another option is better, or that were not measured.
func notBest(r *selection.Report, option string) []selection.Cell {
	var list []selection.Cell
	var parts map[string]float64
	for _, s := range r.Decision.Scores {
		if s.Option == option {
			parts = s.Parts
		}
	}
	for _, c := range r.Criteria {
		cell := r.Cells[slices.IndexFunc(r.Cells, func(of selection.Cell) bool { return of.Option == option && of.Of == c.Name })]
		switch part := parts[c.Name]; {
		case cell.Tag == selection.Unknown:
			list = append(list, cell)
		case parts != nil && c.Weight > 0 && part < 1:
			list = append(list, selection.Cell{Option: option, Of: c.Name, Reason: selection.NotBest, Tag: selection.Measured, Value: &part, Evidence: cell.Evidence})
		}
	}
	return list
}

// cited are the ids of the evidence of some cells.
func cited(cells []selection.Cell) map[string]bool {
	ids := map[string]bool{}
	for _, c := range cells {
		for _, id := range c.Evidence {
			ids[id] = true
		}
	}
	return ids
}

// violations are findings of an option that no requirement asks about.
func (d *deciding) violations(o selection.Option, cells []selection.Cell) []selection.Cell {
	used := cited(cells)
	var list []selection.Cell
	for _, f := range d.Findings {
		if f.Lock == o.Lock() && at(f, o) && violated(f) && !used[f.ID] && !ofLeaseCurve(f) {
			list = append(list, selection.Cell{Option: o.Name, Of: f.Property, Reason: selection.Violated, Tag: selection.Measured, Evidence: []string{f.ID}})
		}
	}
	return list
}

// quoted are the properties for which a lock's table is quoted if nothing was observed.
func quoted(property string) bool { return property == "mutual-exclusion" || property == "recovery" }

// documented returns what the lock's own table expects to be violated, and that was not observed.
func (d *deciding) documented(o selection.Option) []selection.Cell {
	var list []selection.Cell
	for _, c := range o.Claims {
		seen := slices.ContainsFunc(d.Findings, func(f selection.Finding) bool {
			return f.Lock == o.Lock() && f.Property == c.Property && f.Fault == c.Fault && settled(f)
		})
		if !seen && quoted(c.Property) && cmp.Or(c.Deployment, o.Deployment) == o.Deployment {
			list = append(list, selection.Cell{Option: o.Name, Of: c.Property, Reason: selection.ExpectedViolation, Tag: selection.Documented, Claim: &c})
		}
	}
	return list
}

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
