package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"

	"lockbench/reports/format"
)

// say puts the decision into sentences: each with its conditions, and with what it rests on.
func (d *deciding) say(r *Report) {
	to := &r.Decision
	to.For, to.Against, to.Conditions, to.Again = []Statement{}, []Statement{}, []Statement{}, []string{}
	to.Sentence = d.verdict(r)
	for _, name := range to.Recommended {
		o := d.option(name)
		to.For = append(to.For, d.speaksFor(r, o)...)
		to.Against = append(to.Against, d.speaksAgainst(r, o)...)
	}
	to.Conditions = d.underWhich(r)
	to.Again = d.again()
}

func (d *deciding) option(name string) Option {
	i := slices.IndexFunc(d.options, func(o Option) bool { return o.Name == name })
	return d.options[i]
}

// verdict is the recommendation in two or three sentences.
func (d *deciding) verdict(r *Report) string {
	to := r.Decision
	looked := fmt.Sprintf("of %s that were looked at %s all that is required", plural(len(d.options), "option"), plural(len(to.Survivors), "does", "do"))
	switch to.Outcome {
	case NothingFits:
		return fmt.Sprintf("Nothing is recommended: %s. %s", looked, d.nearest(to))
	case NoLockNeeded:
		text := fmt.Sprintf("No lock is needed: %s. %s.", instead(Means(to.Recommended[0])), first(d.cell(r, to.Recommended[0], "applies").Text))
		if len(to.Lock) > 0 {
			return text + fmt.Sprintf(" Whoever wants a lock all the same takes %s. %s", format.Joined(to.Lock), first(looked)+".")
		}
		return text + fmt.Sprintf(" Of the locks none is known to do all that is required. %s.", first(looked))
	case ATie:
		return fmt.Sprintf("%s cannot be told apart by the weights and figures there are: %s. %s", format.Joined(to.Recommended), looked, d.observed(r, to.Recommended[0]))
	}
	lead := "no other lock is left to compare it with"
	if len(to.Scores) > 1 {
		lead = fmt.Sprintf("by the weights that were given it scores %s, and %s, the next, %s", figure(to.Scores[0].Score), to.Scores[1].Option, figure(to.Scores[1].Score))
	}
	return fmt.Sprintf("%s: %s, and %s. %s", to.Recommended[0], looked, lead, d.observed(r, to.Recommended[0]))
}

// instead is what to do in place of a lock.
func instead(m Means) string {
	switch m {
	case Idempotent:
		return "let the operation be done twice"
	case Compare:
		return "let what is guarded decide, by a unique constraint or a compare-and-set"
	}
	return "lock the row in the transaction that changes it"
}

func first(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// observed is what a recommended lock was seen to do, all requirements of safety together.
func (d *deciding) observed(r *Report, option string) string {
	dirs, operations, trials := map[string]bool{}, 0, 0
	var faults []string
	for _, c := range r.Cells {
		if c.Option != option || c.Answer != Yes {
			continue
		}
		for _, id := range c.Evidence {
			f, ok := d.finding(id)
			if !ok || dirs[f.Source+f.Dir] {
				continue
			}
			dirs[f.Source+f.Dir] = true
			operations += f.Operations
			trials += f.Trials
			if f.Fault != "none" && !slices.Contains(faults, f.Fault) {
				faults = append(faults, f.Fault)
			}
		}
	}
	if trials == 0 {
		return "Nothing of it was measured."
	}
	text := fmt.Sprintf("No violation of what is required was observed in %s of %s", plural(operations, "operation"), plural(trials, "trial"))
	if len(faults) > 0 {
		text += ", with and without " + format.Joined(faults)
	}
	return text + fmt.Sprintf(", on %s.", d.server(option))
}

func (d *deciding) finding(id string) (Finding, bool) {
	i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.ID == id })
	if i < 0 {
		return Finding{}, false
	}
	return d.Findings[i], true
}

// server is what a lock was tried on.
func (d *deciding) server(option string) string {
	o := d.option(option)
	var on []string
	for _, s := range d.Sources {
		for _, doc := range s.Environment.Stores {
			if doc.Name == o.Store && !slices.Contains(on, doc.Server) {
				on = append(on, doc.Server)
			}
		}
	}
	return cmp.Or(format.Joined(on), "a server that the evidence does not name")
}

// nearest is who fails the least, and by what.
func (d *deciding) nearest(to Decision) string {
	best := leastOut(to)
	what := "does not meet " + format.Joined(best.Fails)
	if len(best.Fails) == 0 {
		what = "is not known to meet " + format.Joined(best.Unsure)
	} else if len(best.Unsure) > 0 {
		what += ", and is not known to meet " + format.Joined(best.Unsure)
	}
	return fmt.Sprintf("Nearest is %s, which %s: %s.", best.Option, what, best.Text)
}

// leastOut is the option that fails the fewest requirements: a lock, if there are any, since what takes the place of one either
// applies or does not.
func leastOut(to Decision) Knockout {
	out := slices.DeleteFunc(slices.Clone(to.Out), func(k Knockout) bool { return slices.Contains(k.Fails, "applies") })
	if len(out) == 0 {
		out = to.Out
	}
	if len(out) == 0 {
		return Knockout{Option: "nothing"} // nothing was looked at
	}
	return slices.MinFunc(out, func(a, b Knockout) int {
		return cmp.Or(cmp.Compare(len(a.Fails), len(b.Fails)), cmp.Compare(len(a.Unsure), len(b.Unsure)))
	})
}

func (d *deciding) cell(r *Report, option, of string) Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Option == option && c.Of == of })
	if i < 0 {
		return Cell{Option: option, Of: of, Tag: Unknown, Text: "not asked"}
	}
	return r.Cells[i]
}

// speaksFor are the requirements that an option meets, and the criteria that it is best in.
func (d *deciding) speaksFor(r *Report, o Option) []Statement {
	var list []Statement
	for _, req := range r.Requirements {
		if c := d.cell(r, o.Name, req.Name); c.Answer == Yes {
			list = append(list, Statement{fmt.Sprintf("%s %s: %s", o.Name, req.Title, c.Text), c.Tag, c.Evidence})
		}
	}
	for _, c := range r.Criteria {
		if s, ok := score(r.Decision, o.Name); ok && s.Parts[c.Name] == 1 && c.Weight > 0 && beaten(r.Decision, c.Name) {
			cell := d.cell(r, o.Name, c.Name)
			list = append(list, Statement{fmt.Sprintf("%s is best in %s: %s", o.Name, c.Title, cell.Text), cell.Tag, cell.Evidence})
		}
	}
	return list
}

// beaten tells whether a criterion tells options apart at all.
func beaten(to Decision, criterion string) bool {
	return slices.ContainsFunc(to.Scores, func(s Score) bool { return s.Parts[criterion] < 1 })
}

func score(to Decision, option string) (Score, bool) {
	i := slices.IndexFunc(to.Scores, func(s Score) bool { return s.Option == option })
	if i < 0 {
		return Score{}, false
	}
	return to.Scores[i], true
}

// speaksAgainst is what was seen of it that nobody asked about, what it is not best in, and what is not known.
func (d *deciding) speaksAgainst(r *Report, o Option) []Statement {
	list := []Statement{}
	if o.Kind == NoLock {
		return append(list, Statement{fmt.Sprintf("nothing of %s was measured: it rests on what the team says of its operation, and on what stores document", o.Name), Assumed, nil})
	}
	for _, f := range d.harmless(o, r.Cells) {
		text := fmt.Sprintf("%s of %s was violated in %s of %s%s, at a lease of %s: these needs do not ask for it", f.Property, o.Name,
			inTrials(f.ViolatedIn, f.Trials), f.Workload, underWhat(f.Fault), Lasting(time.Duration(f.TTLNS)))
		list = append(list, Statement{text, Measured, []string{f.ID}})
	}
	list = append(list, d.documented(o)...)
	if r.Lease != nil && r.Lease.Option == o.Name {
		list = append(list, unconfirmed(r.Lease)...)
	}
	for _, c := range r.Criteria {
		cell := d.cell(r, o.Name, c.Name)
		s, ok := score(r.Decision, o.Name)
		switch {
		case cell.Tag == Unknown:
			list = append(list, Statement{fmt.Sprintf("%s of %s is %s", c.Title, o.Name, cell.Text), Unknown, nil})
		case ok && s.Parts[c.Name] < 1 && c.Weight > 0:
			list = append(list, Statement{fmt.Sprintf("%s is not best in %s: %s, %s of the best", o.Name, c.Title, cell.Text, percent(s.Parts[c.Name])), Measured, cell.Evidence})
		}
	}
	return list
}

// unconfirmed are the points of the curve of leases that trials came out otherwise at.
func unconfirmed(l *LeaseAdvice) []Statement {
	var list []Statement
	for _, c := range l.Confirmed {
		if !c.Agrees {
			list = append(list, Statement{"the curve of leases is not to be relied on for it: " + c.Text, Measured, nil})
		}
	}
	return list
}

// quoted are properties of which a lock's table is quoted where nothing was seen.
func quoted(property string) bool { return property == "mutual-exclusion" || property == "recovery" }

// documented is what the lock's own table says that breaks, and that was not looked at.
func (d *deciding) documented(o Option) []Statement {
	lock := lockOf(o.Name)
	var list []Statement
	for _, c := range o.Claims {
		seen := slices.ContainsFunc(d.Findings, func(f Finding) bool {
			return f.Lock == lock && f.Property == c.Property && f.Fault == c.Fault && f.Observed != checker.NotApplicable && f.Observed != checker.Undecided
		})
		if c.Verdict == "breaks" && !seen && quoted(c.Property) && (c.Deployment == "" || c.Deployment == o.Deployment) {
			where := underWhat(c.Fault)
			if c.Workload != "" {
				where += " in " + c.Workload
			}
			list = append(list, Statement{fmt.Sprintf("%s of %s is known to break%s: %s", c.Property, o.Name, where, c.Because), Documented, nil})
		}
	}
	return list
}

// underWhich are the conditions of all that is said.
func (d *deciding) underWhich(r *Report) []Statement {
	list := []Statement{}
	for _, s := range d.Sources {
		e := s.Environment
		text := fmt.Sprintf("%s %s was made on %s with %s", s.Kind, s.ID, s.Started, plural(e.Cores, "processor"))
		if e.CPU != "" {
			text += " (" + e.CPU + ")"
		}
		for _, doc := range e.Stores {
			text += fmt.Sprintf(", %s (%s)", doc.Server, doc.Durability)
		}
		list = append(list, Statement{text, Measured, nil})
	}
	n := d.needs
	list = append(list,
		d.work())
	how := "it was given"
	if n.Pauses.Measured != "" {
		how = n.Pauses.Measured
	}
	list = append(list, Statement{fmt.Sprintf("no process stands still for longer than %s (%s)%s", Lasting(n.Pauses.Longest), how, d.unstated("pauses.longest")), Assumed, nil})
	for _, l := range []Lease{Fixed, Renewed} {
		if slices.ContainsFunc(r.Decision.Recommended, func(name string) bool { return d.option(name).Lease == l }) && d.ttl[l] > 0 {
			list = append(list, Statement{fmt.Sprintf("a lease of %s is asked for", Lasting(d.ttl[l])), Assumed, nil})
		}
	}
	return list
}

// work is how long it takes under the lock, and who says so.
func (d *deciding) work() Statement {
	n := d.needs
	text := fmt.Sprintf("work under the lock takes %s (median), %s (99th percentile), %s at most", Lasting(n.Hold.P50), Lasting(n.Hold.P99), Lasting(n.Hold.Max))
	if n.HoldRecorded != "" {
		return Statement{text + ": " + n.HoldRecorded, Measured, nil}
	}
	return Statement{text + d.unstated("hold.p50", "hold.p99", "hold.max"), Assumed, nil}
}

// unstated marks what is a default and nobody's word.
func (d *deciding) unstated(keys ...string) string {
	for _, k := range keys {
		if d.needs.Unstated(k) {
			return "; this is lockbench's default, which nobody confirmed"
		}
	}
	return ""
}

// again is when to ask again.
func (d *deciding) again() []string {
	n := d.needs
	list := []string{
		"when the store, the lock or its library changes its version, or the store its settings or its deployment",
		fmt.Sprintf("when work under the lock takes longer than %s, or a process stands still for longer than %s: watch both", Lasting(n.Hold.Max), Lasting(n.Pauses.Longest)),
		fmt.Sprintf("when more than %s want one lock at once", plural(n.Clients, "client")),
	}
	if n.Recovery > 0 {
		list = append(list, fmt.Sprintf("when %s from the death of a holder to the next grant is too long, or longer than it must be", Lasting(n.Recovery)))
	}
	return append(list, "in a year, whatever has changed")
}
