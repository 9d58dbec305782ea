package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/format"
)

// fact is a labelled row of the summary. Its value may be empty.
type fact struct{ Name, Value, Text string }

// Headline returns the recommendation in one sentence: the lock, its store and deployment, and its lease.
func (r *Report) Headline() string { return newView(r).headline() }

func (v *view) headline() string {
	d := v.Decision
	names := lo.Map(d.Recommended, func(name string, _ int) string { return v.located(name) })
	switch {
	case len(names) == 0:
		return "No recommendation: no candidate is known to meet all requirements"
	case d.Outcome == ATie:
		return "Choose " + strings.Join(names, " or ") + ": a tie"
	case d.Outcome == NoLockNeeded:
		return "No lock is needed: use " + format.Joined(names)
	}
	return "Choose " + format.Joined(names) + v.withLease()
}

var deployments = map[string]string{"single": "one STORE server", "replica": "a STORE server with a replica", "three": "three STORE servers",
	"five": "five STORE servers", "cluster": "a STORE cluster", "sentinel": "STORE with Sentinel"}

// located returns the name of a candidate with its deployment and store.
func (v *view) located(name string) string {
	o := v.options[name]
	if o.Store == "" {
		return name
	}
	return name + " on " + strings.Replace(cmp.Or(deployments[o.Deployment], "STORE, "+o.Deployment), "STORE", o.Store, 1)
}

func (v *view) withLease() string {
	return lo.Ternary(lo.FromPtr(v.Lease).AdvisedNS > 0, ", with a lease of "+format.Setting(lo.FromPtr(v.Lease).AdvisedNS), "")
}

// Summary returns the facts that follow the headline.
func (v *view) Summary() []fact {
	d := v.Decision
	if len(d.Recommended) == 0 {
		return v.unmet()
	}
	var all []fact
	if l := v.Lease; l != nil && slices.Contains(d.Recommended, l.Option) {
		all = append(all, fact{"Lease", lo.Ternary(l.AdvisedNS > 0, format.Setting(l.AdvisedNS), "none") + lo.Ternary(len(d.Recommended) > 1, " for "+l.Option, ""), v.Derivation()})
	}
	level, reason := v.Confidence()
	all = append(all, fact{"Main caveat", "", v.caveat()}, fact{"Confidence", level, reason}, fact{"Chosen from", "", v.Chosen()})
	if d.Outcome != NoLockNeeded {
		return append(all, v.withoutLock())
	}
	locks := lo.Map(d.Lock, func(name string, _ int) string { return v.located(name) })
	best := lo.Ternary(len(locks) > 0, strings.Join(locks, " or ")+v.withLease(), "No lock meets all requirements")
	return append(all, fact{"Best lock", "", best + "."})
}

// Chosen returns how many candidates meet all requirements, and the two highest scores.
func (v *view) Chosen() string {
	d := v.Decision
	text := fmt.Sprintf("%d of %s %s all requirements", len(d.Survivors), format.Plural(len(v.Options), "candidate"), lo.Ternary(len(d.Survivors) == 1, "meets", "meet"))
	if s := d.Scores; len(s) > 1 {
		text += fmt.Sprintf("; scores: %s %s, next %s %s", s[0].Option, score(s[0].Score), s[1].Option, score(s[1].Score))
	}
	return text + "."
}

// Derivation explains the advised lease in a sentence.
func (v *view) Derivation() string {
	l := v.Lease
	switch {
	case l.Lease == Connection:
		return "a hold lasts as long as the connection of its holder."
	case l.AdvisedNS == 0:
		return "no lease ends a hold."
	}
	pause, work := v.stated("pauses.longest", v.Needs.Pauses.Longest), v.stated("hold.max", v.Needs.Hold.Max)
	text := "covers the longest pause (" + pause + "), and is renewed while the work lasts"
	if l.Lease == Fixed {
		text = "covers the longest work (" + work + ") plus the longest pause (" + pause + ")"
	}
	p, _ := lo.Find(l.Curve, func(p LeasePoint) bool { return p.TTLNS == l.AdvisedNS })
	text += "; after a holder dies, the lock is free within " + format.Duration(p.RecoveryMaxNS)
	if v.Needs.Recovery > 0 {
		text += " (required: " + v.stated("recovery_within", v.Needs.Recovery) + ")"
	}
	return text + "."
}

// stated formats a duration of the requirements. If the duration was not stated, it appends "assumed".
func (v *view) stated(key string, d time.Duration) string {
	return setting(d) + lo.Ternary(v.Needs.Unstated(key), ", assumed", "")
}

// The minimum numbers of trials of each workload and fault for moderate and high confidence. If 30 trials show no violation,
// the violation rate is at most 10 %, with a confidence of 95 %.
const (
	moderateTrials = 5
	highTrials     = 30
)

// Confidence returns the level of confidence in the recommendation, and the reason.
func (v *view) Confidence() (level, reason string) {
	used := lo.FlatMap(v.Cells, func(c Cell, _ int) []string {
		return lo.Ternary(c.Answer == Yes && slices.Contains(v.Decision.Recommended, c.Option), c.Evidence, nil)
	})
	findings := lo.Filter(v.Findings, func(f Finding, _ int) bool { return slices.Contains(used, f.ID) })
	if len(findings) == 0 {
		return "not measured", ""
	}
	cells := lo.UniqBy(findings, func(f Finding) [2]string { return [2]string{f.Source, f.Dir} })
	fewest := lo.MinBy(findings, func(a, b Finding) bool { return a.Trials < b.Trials }).Trials
	disagrees := slices.ContainsFunc(lo.FromPtr(v.Lease).Confirmed, func(c Confirmed) bool { return !c.Agrees })
	least := "at least " + format.Plural(fewest, "trial") + " of each workload and fault"
	switch level = "high"; {
	case disagrees:
		level, least = "low", "a trial of a lease disagrees with the prediction; "+least
	case fewest < moderateTrials:
		level, least = "low", "only "+format.Plural(fewest, "trial")+" of some workloads and faults (--trials 20 gives more)"
	case fewest < highTrials:
		level = "moderate"
	}
	return level, fmt.Sprintf("%s. No required property was violated in %s, %s.", least,
		format.Plural(lo.SumBy(cells, func(f Finding) int { return f.Trials }), "trial"),
		format.Plural(lo.SumBy(cells, func(f Finding) int { return f.Operations }), "operation"))
}

// caveat returns a sentence about the main disadvantage of the recommendation. If the lock has leases and no fencing
// tokens are checked, the sentence warns of pauses longer than the lease.
func (v *view) caveat() string {
	o := v.options[v.Decision.Recommended[0]]
	leased, checked := o.Lease == Fixed || o.Lease == Renewed, o.Fences && v.Needs.Fence != NoCheck
	if leased && !checked {
		text := fmt.Sprintf("If a holder pauses past the end of its lease (no pause of up to %s does that), another client is granted the lock, and both work at once",
			setting(v.Needs.Pauses.Longest))
		observed, found := lo.Find(v.Decision.Against, func(c Cell) bool { return c.Reason == Violated && c.Option == o.Name })
		if facts := v.observed(observed); found && facts["fault"] == "process-pause" {
			text += fmt.Sprintf(" (observed in %s of %s, lease %s)", facts["violated"], facts["of"], facts["lease"])
		}
		return lo.Ternary(len(v.Decision.Recommended) > 1, o.Name+": ", "") + text + "."
	}
	if len(v.Decision.Against) == 0 {
		return "None is known."
	}
	return v.line(v.Decision.Against[0]).Short()
}

// withoutLock returns a line of the summary. It explains why no mechanism that replaces a lock is recommended.
func (v *view) withoutLock() fact {
	others := lo.FilterMap(v.Options, func(o Option, _ int) (string, bool) { return o.Name, o.Kind == NoLock })
	text := "None of " + format.Joined(others) + " meets all requirements."
	if v.Needs.Unstated("instead") {
		text = "If " + strings.Join(others, " or ") + " applies, which you did not state, no lock is needed."
	}
	return fact{"Without a lock", "", text}
}

// unmet returns the facts for a decision without a recommendation: the candidate with the fewest failed requirements, and the
// changes that would help.
func (v *view) unmet() (all []fact) {
	d := v.Decision
	if len(d.Eliminated) > 0 {
		e := slices.MinFunc(d.Eliminated, func(a, b Elimination) int { return cmp.Compare(a.distance(), b.distance()) })
		all = append(all, fact{"Nearest", "", fmt.Sprintf("%s (fails: %s; unknown: %s).", v.located(e.Option), v.titles(e.Fails), v.titles(e.Unknown))})
	}
	if open := lo.CountBy(d.Eliminated, func(e Elimination) bool { return len(e.Fails) == 0 }); open > 0 {
		all = append(all, fact{"Evidence", "", format.Plural(open, "candidate") +
			" eliminated only because of unknown answers: run lockbench advise without --evidence, or give runs with the missing faults."})
	}
	for _, c := range d.Changes {
		if c.Outcome != NothingFits && len(all) < 4 {
			all = append(all, fact{"Another answer", "", fmt.Sprintf("%s = %s: %s.", c.Need, c.Value, format.Joined(c.Recommended))})
		}
	}
	return all
}

// distance returns how far an eliminated candidate is from meeting all requirements. Each failed requirement counts
// more than an unknown answer. The distance is greatest for an alternative to a lock that the requirements do not
// allow.
func (e Elimination) distance() int {
	return 1000*len(e.Fails) + len(e.Unknown) + lo.Ternary(slices.Contains(e.Fails, "applies"), 1_000_000, 0)
}

func (v *view) titles(names []string) string {
	return cmp.Or(strings.Join(lo.Map(names, func(n string, _ int) string { return v.title(n) }), ", "), "none")
}
