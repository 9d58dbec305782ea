// Package decision recommends a lock. Decide takes requirements, candidates and evidence, and returns a selection.Report. It
// is deterministic.
package decision

import (
	"cmp"
	"slices"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/selection"
)

// Decide returns the report for these requirements. The candidates in options must be in display order, alternatives to a
// lock first. A candidate is eliminated unless it is known to meet every requirement. Alternatives to a lock take precedence
// over locks. Dominated locks are not scored.
func Decide(n selection.Needs, options []selection.Option, e selection.Evidence) *selection.Report {
	if clean, err := selection.Scrubbed(&selection.Report{Needs: n, Options: options, Evidence: e}); err == nil { // marshalling cannot fail for plain data
		n, options, e = clean.Needs, clean.Options, clean.Evidence
	}
	d := newDeciding(n, options, e)
	r := d.decide()
	if s := d.scoring; s != nil {
		r.Decision.Weightings, r.Decision.Wins = s.weightings()
		r.Decision.Turns = s.turns(r.Decision.Scores[0].Option)
	}
	r.Decision.Changes = d.changes(r.Decision)
	if a := d.leaseAdvice(r); a != nil {
		r.Lease = &a.LeaseAdvice
	}
	r.Decision.Against = d.disadvantages(r)
	return r
}

type deciding struct {
	selection.Evidence
	needs   selection.Needs
	options []selection.Option
	rules   []rule      // rules that apply to these requirements
	by      []criterion // all criteria, with their weights
	ttl     map[selection.Lease]time.Duration
	scoring *scoring // scores of the locks that are not dominated; nil if no lock is left
}

func newDeciding(n selection.Needs, options []selection.Option, e selection.Evidence) *deciding {
	return &deciding{Evidence: e, needs: n, options: options, by: weighed(n),
		rules: lo.Filter(rules(), func(r rule, _ int) bool { return r.asked == nil || r.asked(n) }),
		ttl:   map[selection.Lease]time.Duration{selection.Fixed: AdviseTTL(n, selection.Fixed), selection.Renewed: AdviseTTL(n, selection.Renewed)}}
}

// decide computes the report, except the fields Wins, Turns, Changes, Lease and Against.
func (d *deciding) decide() *selection.Report {
	r := &selection.Report{Version: selection.Version, Needs: d.needs, Options: d.options, Evidence: d.Evidence, Cells: []selection.Cell{},
		Requirements: lo.Map(d.rules, func(r rule, _ int) selection.Requirement { return r.Requirement }),
		Criteria:     lo.Map(d.by, func(c criterion, _ int) selection.Criterion { return c.Criterion }),
		LeasesNS:     lo.MapValues(d.ttl, func(ttl time.Duration, _ selection.Lease) int64 { return int64(ttl) }),
		Decision:     selection.Decision{Eliminated: []selection.Elimination{}, Lock: []string{}, Recommended: []string{}}}
	var left []selection.Option
	for _, o := range d.options {
		cells, out := d.judge(o)
		r.Cells = append(r.Cells, cells...)
		if out != nil {
			r.Decision.Eliminated = append(r.Decision.Eliminated, *out)
		} else {
			left = append(left, o)
		}
	}
	r.Decision.Survivors = names(left)
	locks := lo.Filter(left, func(o selection.Option, _ int) bool { return o.Kind == selection.ALock })
	values := map[string]map[string]value{}
	for _, o := range locks {
		values[o.Name] = map[string]value{}
		for _, c := range d.by {
			v := d.value(o, c)
			values[o.Name][c.Name] = v
			r.Cells = append(r.Cells, v.cell(o, c.Name))
		}
	}
	d.compare(&r.Decision, names(locks), values)
	recommend(&r.Decision, left)
	return r
}

func recommend(to *selection.Decision, left []selection.Option) {
	to.Lock = lo.FilterMap(to.Scores, func(s selection.Score, _ int) (string, bool) { return s.Option, s.Rank == 1 })
	switch {
	case len(left) == 0:
		to.Outcome = selection.NothingFits
	case left[0].Kind == selection.NoLock:
		to.Outcome, to.Recommended = selection.NoLockNeeded, []string{left[0].Name}
	default:
		to.Outcome, to.Recommended = lo.Ternary(len(to.Lock) > 1, selection.ATie, selection.OneLock), to.Lock
	}
}

func names(options []selection.Option) []string {
	return lo.Map(options, func(o selection.Option, _ int) string { return o.Name })
}

func (d *deciding) option(name string) selection.Option {
	return d.options[slices.IndexFunc(d.options, func(o selection.Option) bool { return o.Name == name })]
}

// judge checks a candidate against each requirement and returns one table cell per requirement. The second result describes
// the elimination of the candidate, or is nil if the candidate is not eliminated.
func (d *deciding) judge(o selection.Option) (cells []selection.Cell, out *selection.Elimination) {
	found, gravest := selection.Elimination{Option: o.Name, Fails: []string{}, Unknown: []string{}}, -1
	for _, r := range d.rules {
		answer := r.lock
		if o.Kind == selection.NoLock {
			answer = r.instead
		}
		c := answer(d, o)
		c.Option, c.Of = o.Name, r.Name
		cells = append(cells, c)
		switch c.Answer {
		case selection.Yes:
			continue
		case selection.No:
			found.Fails = append(found.Fails, c.Of)
		default:
			found.Unknown = append(found.Unknown, c.Of)
		}
		if g := gravity(c, r); g > gravest {
			gravest, found.Reason, out = g, c.Of, &found
		}
	}
	return cells, out
}

// gravity returns the rank of a reason for an elimination. The reasons, from the highest rank to the lowest, are:
//
//   - an unmet requirement that is checked without trials
//   - an unmet requirement that is checked by trials
//   - a requirement for which the answer is unknown
//
// Within the second and the third group, safety requirements rank higher. Among equals, measured answers rank higher.
func gravity(c selection.Cell, r rule) (g int) {
	no := c.Answer == selection.No
	if no && !r.Tried {
		return 8
	}
	for bit, holds := range []bool{c.Tag == selection.Measured, r.Safety, no} {
		if holds {
			g += 1 << bit
		}
	}
	return g
}

// disadvantages returns the disadvantages of the recommended candidates. It lists violations that no requirement covers, and
// trials that disagree with the lease model. It also lists criteria that were not measured, and criteria in which another
// candidate is better.
func (d *deciding) disadvantages(r *selection.Report) []selection.Cell {
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

// notBest returns the criteria in which a candidate was not measured, or in which another candidate is better.
func notBest(r *selection.Report, option string) (list []selection.Cell) {
	at := slices.IndexFunc(r.Decision.Scores, func(s selection.Score) bool { return s.Option == option })
	for _, c := range r.Criteria {
		cell := r.Cells[slices.IndexFunc(r.Cells, func(of selection.Cell) bool { return of.Option == option && of.Of == c.Name })]
		if cell.Tag == selection.Unknown {
			list = append(list, cell)
		} else if at >= 0 && c.Weight > 0 && r.Decision.Scores[at].Parts[c.Name] < 1 {
			part := r.Decision.Scores[at].Parts[c.Name]
			list = append(list, selection.Cell{Option: option, Of: c.Name, Reason: selection.NotBest, Tag: selection.Measured, Value: &part, Evidence: cell.Evidence})
		}
	}
	return list
}

func cited(cells []selection.Cell) map[string]struct{} {
	return lo.Keyify(lo.FlatMap(cells, func(c selection.Cell, _ int) []string { return c.Evidence }))
}

// violations returns the findings of violated properties that are not yet cited in the report.
func (d *deciding) violations(o selection.Option, cells []selection.Cell) []selection.Cell {
	used := cited(cells)
	return lo.FilterMap(d.Findings, func(f selection.Finding, _ int) (selection.Cell, bool) {
		return selection.Cell{Option: o.Name, Of: f.Property, Reason: selection.Violated, Tag: selection.Measured, Evidence: []string{f.ID}},
			f.Lock == o.Lock() && appliesTo(f, o) && violated(f) && !lo.HasKey(used, f.ID) && !ofLeaseCurve(f)
	})
}

// quoted reports whether the report may show an author's expectation for a property that was not tested.
func quoted(property string) bool { return property == "mutual-exclusion" || property == "recovery" }

// documented returns the violations that the author of a lock expects. It omits violations that a trial has confirmed or
// refuted.
func (d *deciding) documented(o selection.Option) []selection.Cell {
	return lo.FilterMap(o.Expectations, func(c selection.Expectation, _ int) (selection.Cell, bool) {
		seen := slices.ContainsFunc(d.Findings, func(f selection.Finding) bool {
			return f.Lock == o.Lock() && f.Property == c.Property && f.Fault == c.Fault && settled(f)
		})
		return selection.Cell{Option: o.Name, Of: c.Property, Reason: selection.ExpectedViolation, Tag: selection.Documented, Expectation: &c},
			!seen && quoted(c.Property) && cmp.Or(c.Deployment, o.Deployment) == o.Deployment
	})
}

// Trim returns the evidence that affects the decision, or would affect it if one requirement changed. The returned evidence
// has new ids.
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
	quotes := func(f selection.Finding) bool { // whether the report would show the author's expectation if this finding were missing
		return quoted(f.Property) && slices.ContainsFunc(r.Decision.Recommended, func(o string) bool { return selection.Option{Name: o}.Lock() == f.Lock })
	}
	return numbered(selection.Evidence{
		Sources:  e.Sources,
		Findings: lo.Filter(e.Findings, func(f selection.Finding, _ int) bool { return lo.HasKey(used, f.ID) || quotes(f) }),
		Figures:  lo.Filter(e.Figures, func(f selection.Figure, _ int) bool { return lo.HasKey(used, f.ID) }),
		Times:    lo.Filter(e.Times, func(t selection.RecordedTime, _ int) bool { return lo.HasKey(used, t.ID) }),
		Paused:   lo.Filter(e.Paused, func(s selection.PausedHolds, _ int) bool { return s.Lock == advised }),
	})
}
