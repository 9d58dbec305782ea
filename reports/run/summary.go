package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// verdict says what matters most first, then the rest, and under which conditions it was found.
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
	if judged := len(r.Measurements); r.Run.Interrupted || r.Run.Ended.IsZero() || judged < len(r.Run.Plan) {
		say(html.Unsure, "Incomplete: %s of %s judged.", format.Count(judged), format.Plural(len(r.Run.Plan), "planned cell"))
	}
	if t.Trials == 0 {
		say(html.Unsure, "Nothing was judged.")
	} else {
		r.sayResults(say)
	}
	v.Headline, v.Rest = parts[0], strings.Join(parts[1:], " ")
	return v
}

// sayResults says what the locks did, then whether that was expected.
func (r *Results) sayResults(say func(tone html.Tone, format string, args ...any)) {
	t := r.Tally
	if t.Fail > 0 {
		say(html.Bad, "%s violated although expected to hold: %s.", format.Plural(t.Fail, "property"), r.listed(checker.Fail, "violates"))
	}
	if t.XPass > 0 {
		say(html.Bad, "%s not detected: %s. What the suite cannot detect it cannot rule out.", format.Plural(t.XPass, "known defect"), r.listed(checker.XPass, "on"))
	}
	tone, text := r.sayLocks()
	say(tone, "%s", text)
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

// listed names up to three observations of a result.
func (r *Results) listed(s checker.Result, verb string) string {
	label := r.Run.labels()
	var names []string
	for _, o := range r.Cells {
		if o.Result == s {
			names = append(names, fmt.Sprintf("%s %s %s in %s", label(o.Lock, o.Deployment), verb, o.Property, o.Where()))
		}
	}
	return few(names, "; ")
}

func (r *Results) conditions() string {
	label := r.Run.labels()
	var locks, workloads, faults []string
	for _, m := range r.Measurements {
		locks, workloads, faults = append(locks, label(m.Lock, m.Deployment)), append(workloads, m.Workload), append(faults, m.Fault)
	}
	if locks, workloads, faults = unique(locks), unique(workloads), unique(faults); faults == nil {
		faults = []string{"none"}
	}
	parts := []string{
		format.Plural(len(locks), "lock") + ", " + format.Plural(len(workloads), "workload") + " (" + strings.Join(workloads, ", ") + ")",
		"faults: " + strings.Join(faults, ", "),
		format.Plural(r.Tally.Operations, "operation") + " in " + format.Plural(r.Tally.Trials, "judged trial"),
		cmp.Or(r.Run.Environment.Server, r.Run.Servers),
		fmt.Sprintf("seed %d", r.Run.Seed),
	}
	if r.Tally.Void > 0 {
		parts[2] += fmt.Sprintf(" (%s not counted)", format.Plural(r.Tally.Void, "discarded trial"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// evidence returns the sentence on what a pass means.
func (r *Results) evidence() string {
	return fmt.Sprintf("A pass means that no violation was observed in the operations counted beside it, under these faults and on this machine (%s in all). That is evidence, not proof.", format.Plural(r.Tally.Operations, "operation"))
}

// sayLocks returns which locks excluded, in one sentence. The tone is good if all did, and bad if a lock without
// expectations let two clients hold at once.
func (r *Results) sayLocks() (html.Tone, string) {
	label, tone := r.Run.labels(), html.Good
	var names [len(exclusionLooks)][]string
	for _, seen := range r.byLock() {
		class := exclusionOf(seen)
		names[class] = append(names[class], label(seen[0].Lock, seen[0].Deployment))
		if class != excluded && tone == html.Good {
			tone = html.Unsure
		}
		if class == overlapped && !slices.ContainsFunc(seen, func(o Observation) bool { return o.Expected != histories.Unspecified }) {
			tone = html.Bad
		}
	}
	text := fmt.Sprintf("%d of %s excluded in every trial", len(names[excluded]), format.Plural(len(slices.Concat(names[:]...)), "lock"))
	for class, did := range []string{withinLease: "only while the lease lasted", overlapped: "let two clients hold at once", unsettled: "not settled"} {
		if n := names[class]; did != "" && len(n) > 0 {
			text += fmt.Sprintf("; %d %s: %s", len(n), did, few(n, ", "))
		}
	}
	return tone, text + "."
}

func few(names []string, between string) string {
	if len(names) > 3 {
		names = append(slices.Clone(names[:3]), fmt.Sprintf("and %d more", len(names)-3))
	}
	return strings.Join(names, between)
}
