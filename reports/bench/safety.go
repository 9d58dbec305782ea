package bench

import (
	"slices"
	"strings"

	"lockbench/reports/html"
)

type safetyRow struct {
	Subject    Subject
	Judged     int // number of judged trials
	Operations int
	Violated   []violatedIn
	Undecided  []string
	Disagree   int
	Discarded  int
}

type violatedIn struct {
	Violation
	Trials int
}

// Badge returns the badge for the safety verdict on the lock.
func (r safetyRow) Badge() html.Badge {
	switch {
	case r.Judged == 0:
		return html.Badge{Class: "result-observed", Symbol: "·", Word: "not judged"}
	case slices.ContainsFunc(r.Violated, func(x violatedIn) bool { return x.Exclusion() }):
		return html.Badge{Class: "result-fail", Symbol: "✗", Word: "exclusion violated"}
	case len(r.Violated) > 0:
		return html.Badge{Class: "result-inconclusive", Symbol: "?", Word: "other property violated"}
	case len(r.Undecided) > 0:
		return html.Badge{Class: "result-inconclusive", Symbol: "?", Word: "undecided"}
	}
	return html.Badge{Class: "result-pass", Symbol: "✓", Word: "no violation"}
}

func (r safetyRow) UndecidedText() string { return strings.Join(r.Undecided, ", ") }

// safety returns the safety verdicts of the tested locks, and of self-checks with a violation. It omits the baseline
// and known-broken locks.
func (v *view) safety() (all []safetyRow) {
	for _, s := range v.Plan.Subjects {
		if s.Role == Baseline || s.Role == Control {
			continue
		}
		row := safetyRow{Subject: s}
		for _, t := range v.Trials {
			if t.Subject == s.Name {
				row.add(t)
			}
		}
		if row.Judged+row.Discarded > 0 && (s.Role == Lock || len(row.Violated) > 0) {
			all = append(all, row)
		}
	}
	return all
}

func (r *safetyRow) add(t *Trial) {
	switch {
	case t.Discarded != "":
		r.Discarded++
		return
	case t.Judged == nil:
		return
	}
	r.Judged++
	r.Operations += t.Judged.Operations
	if t.Judged.Disagree {
		r.Disagree++
	}
	for _, name := range t.Judged.Undecided {
		r.Undecided = appendUnique(r.Undecided, name)
	}
	in := map[string]bool{} // set of the violated properties that were already counted for the trial
	for _, x := range t.Judged.Violated {
		i := slices.IndexFunc(r.Violated, func(y violatedIn) bool { return y.Property == x.Property })
		if i < 0 {
			i, r.Violated = len(r.Violated), append(r.Violated, violatedIn{Violation: x})
		}
		if !in[x.Property] {
			r.Violated[i].Trials++
		}
		in[x.Property] = true
	}
}
