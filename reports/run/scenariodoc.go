package run

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
)

// scenarioDoc is the page that ties every warning to a command and to what was observed; nil where the run has no
// scenarios. It is the source of docs/scenarios.md.
func (r *Results) scenarioDoc() []byte {
	if len(r.Run.Scenarios) == 0 {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Scenarios: the warnings of the articles, acted out\n\n"+
		"Made by `make scenarios`, which runs `lockbench run --scenarios all` and takes this page from its report: what is\n"+
		"expected stands in the table of the locks (`impls/`), what happens in that of the scenarios (`internal/drive/scenarios`),\n"+
		"and what was observed was measured. This time: %s, %s, seed %d, %s judged.\n\n"+
		"Each scenario can be run alone, and its report has the witnesses with their swim lanes.\n\n",
		r.Run.Started.Format("2006-01-02"), cmp.Or(r.Run.Environment.Server, r.Run.Servers), r.Run.Seed, format.Plural(r.Tally.Trials, "trial"))
	b.WriteString("| scenario | warns of |\n|---|---|\n")
	for _, s := range r.Run.Scenarios {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", s.Name, s.Name, cellText(s.Warning))
	}
	for _, g := range r.groups() {
		if !g.Scenario {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", g.Label)
		if g.Warning != "" {
			fmt.Fprintf(&b, "*%s.*\n\n", upper(g.Warning))
		}
		fmt.Fprintf(&b, "%s\n\n    go run ./cmd/lockbench run --scenarios %s\n\n", g.Doc, g.Label)
		b.WriteString("| lock | under | property | expected | observed | because |\n|---|---|---|---|---|---|\n")
		for _, row := range docRows(g.Main) {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return b.Bytes()
}

// docRows are the claims of a scenario: a row for what is expected for one reason and came out alike.
func docRows(all []claim) [][]string {
	var rows [][]string
	for _, c := range all {
		o := c.Gravest
		lock, _, _ := strings.Cut(c.Lock, " under ")
		seen := inTrials(o)
		switch {
		case seen != "":
		case c.Times > 0:
			seen = "violated"
		default:
			seen = observed(o.Observed)
		}
		if bad := o.Score; bad == checker.Broken || bad == checker.Missed || bad == checker.LeftUndecided {
			seen = "**" + o.Score.String() + "** " + seen
		}
		because := c.Because
		if c.Expected == histories.MeasuredOnly && because == "" {
			because = "measured without a claim"
		}
		rows = mergeAlike(rows, []string{"`" + lock + "`", c.Fault, c.Property, expectation(c.Expected), cellText(seen), cellText(because)}, 2)
	}
	return rows
}

// cellText is a text as a cell of a Markdown table.
func cellText(s string) string { return strings.ReplaceAll(format.Clean(s), "|", `\|`) }
