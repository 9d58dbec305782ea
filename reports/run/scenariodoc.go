package run

import (
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
)

// docRows are the claims of a scenario: a row for what is expected for one reason and came out alike.
func docRows(all []claim) [][]string {
	var rows [][]string
	for _, c := range all {
		o := c.Gravest
		lock, _, _ := strings.Cut(c.Label, " under ")
		seen := inTrials(o)
		switch {
		case seen != "":
		case c.Times > 0:
			seen = "violated"
		default:
			seen = observed(o.Observed)
		}
		if o.Score != checker.Measured && o.Score != checker.Kept && o.Score != checker.Caught {
			seen = "**" + o.Score.String() + "** " + seen
		}
		because := o.Because
		if o.Expected == histories.MeasuredOnly && because == "" {
			because = "measured without a claim"
		}
		rows = mergeAlike(rows, []string{"`" + lock + "`", o.Fault, o.Property, expectation(o.Expected), cellText(seen), cellText(because)}, 2)
	}
	return rows
}

// cellText is a text as a cell of a Markdown table.
func cellText(s string) string { return strings.ReplaceAll(format.Clean(s), "|", `\|`) }
