package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/reports/format"
)

// tone is how a verdict sounds: it picks a colour, and never stands alone.
type tone string

const (
	good   tone = "good"
	bad    tone = "bad"
	unsure tone = "unsure"
)

// headline is the verdict: what matters most first, then the rest.
func (r *Results) headline() (first, rest string, sound tone) {
	t := r.Tally
	var parts []string
	sound = good
	say := func(to tone, format string, args ...any) {
		parts = append(parts, fmt.Sprintf(format, args...))
		if sound == good || to == bad {
			sound = to
		}
	}
	if t.Disagreements > 0 {
		say(bad, "Monitor and oracle disagree %s: a fault of lockbench, and nothing below can be relied on.", times(t.Disagreements))
	}
	if t.Trials == 0 {
		say(unsure, "Nothing was judged.")
		return parts[0], strings.Join(parts[1:], " "), sound
	}
	if t.Broken > 0 {
		say(bad, "%s broken: %s.", were(t.Broken, "claim"), r.listed(checker.Broken))
	}
	if t.Missed > 0 {
		say(bad, "%s not caught: %s. What the suite cannot catch it cannot rule out.", were(t.Missed, "control"), r.listed(checker.Missed))
	}
	if t.Undecided > 0 {
		say(unsure, "%s left undecided.", were(t.Undecided, "claim"))
	}
	r.sayRest(say)
	if n := r.missingCells(); r.Run.Interrupted || n > 0 {
		say(unsure, "The run is not whole: %s of %s lack a verdict.", format.Count(n), plural(len(r.Run.Plan), "planned cell"))
	}
	return parts[0], strings.Join(parts[1:], " "), sound
}

// sayRest says what went as expected.
func (r *Results) sayRest(say func(to tone, format string, args ...any)) {
	t := r.Tally
	claims, controls := t.Kept+t.Broken+t.Undecided, t.Caught+t.Missed
	switch {
	case claims == 0 && controls == 0:
		say(unsure, "Nothing was claimed and no control was run.")
	case claims == 0:
		say(good, "No claim was tested; %s.", allOf(t.Caught, controls, "control", "caught"))
	case controls == 0:
		say(unsure, "%s; no control was run that could have failed.", upper(allOf(t.Kept, claims, "claim", "kept")))
	default:
		say(good, "%s; %s.", upper(allOf(t.Kept, claims, "claim", "kept")), allOf(t.Caught, controls, "control", "caught"))
	}
}

func allOf(n, of int, noun, done string) string {
	switch {
	case n == of && of == 1:
		return fmt.Sprintf("the one %s was %s", noun, done)
	case of == 1:
		return fmt.Sprintf("the one %s was not %s", noun, done)
	case n == of && of == 2:
		return fmt.Sprintf("both %ss were %s", noun, done)
	case n == of:
		return fmt.Sprintf("all %s were %s", plural(of, noun), done)
	}
	return fmt.Sprintf("%s of %s were %s", format.Count(n), plural(of, noun), done)
}

func were(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return plural(n, noun) + " were"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return format.Count(n) + " times"
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// listed names up to three observations of a score.
func (r *Results) listed(s checker.Score) string {
	label := r.Run.labels()
	var names []string
	for _, o := range r.Cells {
		if o.Score == s {
			names = append(names, fmt.Sprintf("%s breaks %s in %s", label(o.Lock, o.Deployment), o.Property, o.where()))
		}
	}
	if s == checker.Missed {
		for i := range names {
			names[i] = strings.Replace(names[i], " breaks ", " on ", 1)
		}
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	return strings.Join(names, "; ")
}

func (r *Results) missingCells() int {
	judged := map[string]bool{}
	for _, m := range r.Measurements {
		judged[m.Dir] = true
	}
	n := 0
	for _, c := range r.Run.Plan {
		if !judged[c.Dir] {
			n++
		}
	}
	return n
}

// conditions says under which conditions the verdict was found.
func (r *Results) conditions() string {
	locks, workloads, faults := r.judgedNames()
	parts := []string{
		plural(len(locks), "lock") + ", " + plural(len(workloads), "workload") + " (" + strings.Join(workloads, ", ") + ")",
		"faults: " + strings.Join(faults, ", "),
		plural(r.Tally.Operations, "operation") + " in " + plural(r.Tally.Trials, "judged trial"),
		cmp.Or(r.Run.Environment.Server, r.Run.Servers),
		fmt.Sprintf("seed %d", r.Run.Seed),
	}
	if r.Tally.Void > 0 {
		parts[2] += fmt.Sprintf(" (%s not counted)", plural(r.Tally.Void, "void trial"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

func (r *Results) judgedNames() (locks, workloads, faults []string) {
	label := r.Run.labels()
	add := func(to *[]string, name string) {
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	for _, m := range r.Measurements {
		add(&locks, label(m.Lock, m.Deployment))
		add(&workloads, m.Workload)
		add(&faults, m.Fault)
	}
	if faults == nil {
		faults = []string{"none"}
	}
	return locks, workloads, faults
}

// weight is the sentence on what a pass means.
func (r *Results) weight() string {
	return fmt.Sprintf("Where a claim is kept, no violation was observed in the operations counted beside it, under these faults and on this machine (%s in all). That is evidence, not proof.", plural(r.Tally.Operations, "operation"))
}
