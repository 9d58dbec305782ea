package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"lockbench/checker"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// verdict returns the headline of the report, the sentences below it and the conditions of the run.
func (r *Results) verdict() html.Verdict {
	t := r.Tally
	v := html.Verdict{Tone: html.Good, Conditions: r.conditions()}
	var parts []string
	say := func(tone html.Tone, format string, args ...any) {
		parts = append(parts, fmt.Sprintf(format, args...))
		if v.Tone == html.Good || tone == html.Bad {
			v.Tone = tone
		}
	}
	if t.Disagreements > 0 {
		say(html.Bad, "Monitor and oracle disagree %s: a fault of lockbench, and nothing below can be relied on.", format.Often(t.Disagreements))
	}
	incomplete := ""
	if judged := len(r.Measurements); r.Run.Interrupted || r.Run.Ended.IsZero() || judged < len(r.Run.Plan) {
		incomplete = fmt.Sprintf("Incomplete: %s of %s judged", format.Count(judged), format.Plural(len(r.Run.Plan), "planned cell"))
	}
	held := r.heldAtOnce()
	switch { // a violation is reported even if the run is incomplete
	case incomplete != "" && len(held) > 0:
		held[0] = incomplete + "; " + held[0]
	case incomplete != "":
		say(html.Unsure, "%s.", incomplete)
	}
	for _, sentence := range held {
		say(html.Bad, "%s.", sentence)
	}
	if t.Trials == 0 {
		say(html.Unsure, "Nothing was judged.")
	} else {
		r.sayResults(say)
	}
	v.Headline, v.Rest = parts[0], strings.Join(parts[1:], " ")
	return v
}

// sayResults adds the sentences about the locks, then the sentences about the expectations.
func (r *Results) sayResults(say func(tone html.Tone, format string, args ...any)) {
	t := r.Tally
	r.sayLocks(say)
	if t.Fail > 0 {
		say(html.Bad, "%s violated although expected to hold: %s.", format.Plural(t.Fail, "property"), r.listed(checker.Fail, "violates"))
	}
	if t.XPass > 0 {
		say(html.Bad, "%s not detected: %s. What the suite cannot detect it cannot rule out.", format.Plural(t.XPass, "known defect"), r.listed(checker.XPass, "on"))
	}
	if t.Inconclusive > 0 {
		say(html.Unsure, "%s inconclusive.", format.Plural(t.Inconclusive, "result is", "results are"))
	}
	switch met := t.Pass + t.XFail; {
	case t.Expected() == 0:
		say(html.Unsure, "Nothing was expected of any of them.")
	case t.XFail+t.XPass == 0:
		say(html.Unsure, "%s of %s met; no known-broken lock was run that could have failed.", format.Count(met), format.Plural(t.Expected(), "expectation"))
	default:
		say(html.Good, "%s of %s met: %d pass, %d xfail.", format.Count(met), format.Plural(t.Expected(), "expectation"), t.Pass, t.XFail)
	}
}

// listed returns the names of up to three observations with the given result.
func (r *Results) listed(s checker.Result, verb string) string {
	label := r.Run.labels()
	var names []string
	for _, o := range r.Cells {
		if o.Result == s {
			names = append(names, fmt.Sprintf("%s %s %s in %s", label(o.Lock, o.Deployment), verb, o.Property, o.Where()))
		}
	}
	return format.Few(names, "; ")
}

// conditions describes the size of the run and its environment in one line.
func (r *Results) conditions() string {
	var workloads, faults []string
	for _, m := range r.Measurements {
		workloads, faults = append(workloads, m.Workload), append(faults, m.Fault)
	}
	if workloads, faults = unique(workloads), unique(faults); faults == nil {
		faults = []string{"none"}
	}
	parts := []string{
		format.Plural(len(r.byLock()), "lock") + ", " + format.Plural(len(workloads), "workload"),
		"faults: " + strings.Join(faults, ", "),
		format.Plural(r.Tally.Operations, "operation") + " in " + format.Plural(r.Tally.Trials, "judged trial"),
		cmp.Or(r.Run.Environment.Server, r.Run.Servers),
		fmt.Sprintf("seed %d", r.Run.Seed),
	}
	if n := len(workloads); n > 0 && n <= 3 {
		parts[0] += " (" + strings.Join(workloads, ", ") + ")"
	}
	if n := len(r.Run.Environment.Stores); n > 3 {
		parts[3] = format.Plural(n, "store")
	}
	if r.Tally.Discarded > 0 {
		parts[2] += fmt.Sprintf(" (%s not counted)", format.Plural(r.Tally.Discarded, "discarded trial"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// evidence returns a sentence about the meaning of a pass: it is evidence of correctness, but no proof.
func (r *Results) evidence() string {
	return fmt.Sprintf("A pass means that no violation was observed in the operations counted beside it, under these faults and on this machine (%s in all). That is evidence, not proof.", format.Plural(r.Tally.Operations, "operation"))
}

// heldAtOnce returns a sentence about each lock that two clients held at once although that was not expected.
func (r *Results) heldAtOnce() (sentences []string) {
	times := map[string]int{}
	var order []string
	label := r.Run.labels()
	for _, o := range r.Cells {
		if o.Result != checker.Fail || o.Property != "mutual-exclusion" && o.Property != "lease-exclusion" {
			continue
		}
		name := label(o.Lock, o.Deployment)
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
		if o.Property == "mutual-exclusion" {
			times[name] += o.Violations
		}
	}
	for _, name := range order {
		if n := times[name]; n > 0 {
			sentences = append(sentences, fmt.Sprintf("%s let two clients hold at once %s", name, format.Often(n)))
		} else {
			sentences = append(sentences, name+" promised a lease to two clients at once")
		}
	}
	return sentences
}

// sayLocks calls the function say for each sentence about the locks, with the tone of the sentence. The first sentence
// has the tone Bad if two clients held a lock at once, unless the lock is known-broken. It has the tone Good if every
// row of the overview is green.
func (r *Results) sayLocks(say func(tone html.Tone, format string, args ...any)) {
	view, tone := r.overview(), html.Good
	var by [len(exclusionLooks)][]overviewRow
	var starving []overviewRow
	for _, row := range view.Rows {
		by[row.Class] = append(by[row.Class], row)
		if row.starves {
			starving = append(starving, row)
		}
		switch {
		case row.Class == overlapped && !row.KnownBroken:
			tone = html.Bad
		case row.Overall().Tone != html.Good && tone == html.Good:
			tone = html.Unsure
		}
	}
	text := fmt.Sprintf("%d of %s excluded in every trial", len(by[excluded]), format.Plural(len(view.Rows), "lock"))
	if broken := lo.CountBy(by[excluded], func(row overviewRow) bool { return row.KnownBroken }); broken > 0 {
		text += fmt.Sprintf(" (%d known-broken)", broken)
	}
	if rows := by[overlapped]; len(rows) > 0 {
		text += fmt.Sprintf("; %d let two clients hold at once: %s", len(rows), named(rows))
	}
	say(tone, "%s.", text)
	for _, also := range []struct {
		rows []overviewRow
		did  string
	}{{by[withinLease], "excluded only while the lease lasted"}, {by[unsettled], "not settled"}, {starving, "starved a client"}} {
		if n := len(also.rows); n > 0 {
			say(html.Good, "%d %s: %s.", n, also.did, named(also.rows))
		}
	}
}

// named returns the names of up to three locks and the number of the remaining locks. Known-broken locks come last.
func named(rows []overviewRow) string {
	var names, broken []string
	for _, row := range rows {
		if row.KnownBroken {
			broken = append(broken, row.Label)
		} else {
			names = append(names, row.Label)
		}
	}
	if len(rows) <= 3 || len(names) == 0 || len(names) > 3 {
		return format.Few(append(names, broken...), ", ")
	}
	return strings.Join(names, ", ") + " and " + format.Plural(len(broken), "known-broken lock")
}
