package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
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
	if t.Trials == 0 {
		say(html.Unsure, "Nothing was judged.")
	} else {
		r.sayScores(say)
	}
	v.Headline, v.Rest = parts[0], strings.Join(parts[1:], " ")
	return v
}

func (r *Results) sayScores(say func(tone html.Tone, format string, args ...any)) {
	t := r.Tally
	if t.Broken > 0 {
		say(html.Bad, "%s broken: %s.", were(t.Broken, "claim"), r.listed(checker.Broken, "breaks"))
	}
	if t.Missed > 0 {
		say(html.Bad, "%s not caught: %s. What the suite cannot catch it cannot rule out.", were(t.Missed, "control"), r.listed(checker.Missed, "on"))
	}
	if t.Undecided > 0 {
		say(html.Unsure, "%s left undecided.", were(t.Undecided, "claim"))
	}
	claims, controls := t.Kept+t.Broken+t.Undecided, t.Caught+t.Missed
	kept, caught := allOf(t.Kept, claims, "claim", "kept"), allOf(t.Caught, controls, "control", "caught")
	switch {
	case claims == 0 && controls == 0:
		say(html.Unsure, "Nothing was claimed and no control was run.")
	case claims == 0:
		say(html.Good, "No claim was tested; %s.", caught)
	case controls == 0:
		say(html.Unsure, "%s; no control was run that could have failed.", upper(kept))
	default:
		say(html.Good, "%s; %s.", upper(kept), caught)
	}
	if n := len(r.Run.Plan) - len(r.Measurements); r.Run.Interrupted || n > 0 {
		say(html.Unsure, "The run is not whole: %s of %s lack a verdict.", format.Count(n), format.Plural(len(r.Run.Plan), "planned cell"))
	}
}

func allOf(n, of int, noun, done string) string {
	switch {
	case of == 1 && n == 0:
		return "the one " + noun + " was not " + done
	case of == 1:
		return "the one " + noun + " was " + done
	case n == of && of == 2:
		return "both " + noun + "s were " + done
	case n == of:
		return "all " + format.Plural(of, noun) + " were " + done
	}
	return format.Count(n) + " of " + format.Plural(of, noun) + " were " + done
}

func were(n int, noun string) string { return format.Plural(n, noun+" was", noun+"s were") }

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// listed names up to three observations of a score.
func (r *Results) listed(s checker.Score, verb string) string {
	label := r.Run.labels()
	var names []string
	for _, o := range r.Cells {
		if o.Score == s {
			names = append(names, fmt.Sprintf("%s %s %s in %s", label(o.Lock, o.Deployment), verb, o.Property, o.Where()))
		}
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	return strings.Join(names, "; ")
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
		parts[2] += fmt.Sprintf(" (%s not counted)", format.Plural(r.Tally.Void, "void trial"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// weight says what a pass means.
func (r *Results) weight() string {
	return fmt.Sprintf("Where a claim is kept, no violation was observed in the operations counted beside it, under these faults and on this machine (%s in all). That is evidence, not proof.", format.Plural(r.Tally.Operations, "operation"))
}
