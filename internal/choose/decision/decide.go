package decision

import (
	"slices"
	"time"
)

// Decide works out a recommendation. Options are in display order, those that take no lock first. The leases are what is
// advised for locks that are renewed and for those that are not: see AdviseTTL.
//
// What is required comes first: an option of which it was seen, or is not known, that it does what is required is out,
// whatever else it does well. Of what is left, something that takes the place of a lock goes before every lock. Locks are
// then compared by their figures: those that another is as good as in everything are set aside, and the rest is scored.
func Decide(n Needs, options []Option, e Evidence) *Report {
	if clean, err := Scrubbed(&Report{Needs: n, Options: options, Evidence: e}); err == nil { // it is data: there is nothing to go wrong
		n, options, e = clean.Needs, clean.Options, clean.Evidence
	}
	d := newDeciding(n, options, e)
	r := d.decide()
	r.Decision.Changes = d.changes(r.Decision)
	r.Lease = d.leaseAdvice(r)
	d.say(r)
	return r
}

// deciding is a decision under way.
type deciding struct {
	Evidence
	needs   Needs
	options []Option
	rules   []rule      // that these needs ask for
	by      []criterion // all, with their weights
	ttl     map[Lease]time.Duration
}

func newDeciding(n Needs, options []Option, e Evidence) *deciding {
	d := &deciding{Evidence: e, needs: n, options: options, ttl: map[Lease]time.Duration{}}
	for _, l := range []Lease{Fixed, Renewed} {
		d.ttl[l] = AdviseTTL(n, l)
	}
	for _, r := range rules() {
		if why := r.because(n); why != "" {
			r.Because = why
			d.rules = append(d.rules, r)
		}
	}
	d.by = weighed(n)
	return d
}

// decide is all but the sentences, and what another need would change.
func (d *deciding) decide() *Report {
	r := &Report{Version: Version, Needs: d.needs, Options: d.options, Evidence: d.Evidence, Requirements: []Requirement{}, Criteria: []Criterion{}, Cells: []Cell{}}
	for _, rule := range d.rules {
		r.Requirements = append(r.Requirements, rule.Requirement)
	}
	for _, c := range d.by {
		r.Criteria = append(r.Criteria, c.Criterion)
	}
	var left, locks []Option
	out := []Knockout{}
	for _, o := range d.options {
		cells := d.judge(o)
		r.Cells = append(r.Cells, cells...)
		if k := knockout(o, cells, d.rules); k != nil {
			out = append(out, *k)
			continue
		}
		left = append(left, o)
		if o.Kind == ALock {
			locks = append(locks, o)
		}
	}
	r.Decision = Decision{Out: out, Survivors: names(left), Lock: []string{}, Recommended: []string{}}
	values := map[string]map[string]value{}
	for _, o := range locks {
		values[o.Name] = map[string]value{}
		for _, c := range d.by {
			v := d.value(o, c)
			values[o.Name][c.Name] = v
			r.Cells = append(r.Cells, v.cell(o, c))
		}
	}
	d.compare(&r.Decision, locks, values)
	d.recommend(&r.Decision, left)
	return r
}

// recommend settles the outcome.
func (d *deciding) recommend(to *Decision, left []Option) {
	for _, s := range to.Scores {
		if s.Rank == 1 {
			to.Lock = append(to.Lock, s.Option)
		}
	}
	switch {
	case len(left) == 0:
		to.Outcome = NothingFits
	case left[0].Kind == NoLock:
		to.Outcome, to.Recommended = NoLockNeeded, []string{left[0].Name}
	case len(to.Lock) > 1:
		to.Outcome, to.Recommended = ATie, to.Lock
	default:
		to.Outcome, to.Recommended = OneLock, to.Lock
	}
}

func names(options []Option) []string {
	list := []string{}
	for _, o := range options {
		list = append(list, o.Name)
	}
	return list
}

// judge holds an option to each requirement.
func (d *deciding) judge(o Option) []Cell {
	var cells []Cell
	for _, r := range d.rules {
		answer := r.lock
		if o.Kind == NoLock {
			answer = r.instead
		}
		c := answer(d, o)
		c.Option, c.Of = o.Name, r.Name
		cells = append(cells, c)
	}
	return cells
}

// knockout says why an option is out; nil: it is not. The gravest reason is the first that concerns safety and was measured.
func knockout(o Option, cells []Cell, rules []rule) *Knockout {
	k := &Knockout{Option: o.Name, Fails: []string{}, Unsure: []string{}}
	grave := -1
	for _, c := range cells {
		if c.Answer == Yes {
			continue
		}
		if c.Answer == No {
			k.Fails = append(k.Fails, c.Of)
		} else {
			k.Unsure = append(k.Unsure, c.Of)
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return r.Name == c.Of })
		if g := gravity(c, rules[i]); g > grave {
			grave, k.Text = g, c.Text
		}
	}
	if grave < 0 {
		return nil
	}
	return k
}

func gravity(c Cell, r rule) int {
	g := 0
	if c.Answer == No {
		g += 4
	}
	if r.Safety {
		g += 2
	}
	if c.Tag == Measured {
		g++
	}
	if !r.Tried && c.Answer == No { // nothing was tried of it
		g = 8
	}
	return g
}
