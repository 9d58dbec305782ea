package run

import (
	"fmt"
	"io"
	"slices"

	"lockbench/checker"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// Text writes the table for the terminal: per lock what was expected and what was observed, then the verdict. Colour only
// repeats what symbols and words say. An error is the writer's.
func (r *Results) Text(w io.Writer, color bool) error {
	t := &format.Lines{Color: color}
	for _, g := range r.groups() {
		textGroup(t, g)
	}
	textStores(t, r)
	textSales(t, r.saleRows())
	for _, gap := range r.Gaps {
		t.AddPainted("33", "missing", "  "+gap.Dir+": "+gap.Reason)
	}
	for _, trial := range r.Trials {
		if trial.State == Void {
			t.AddPainted("33", "void   ", "  "+trial.Dir+": "+trial.Reason)
		}
	}
	for _, warning := range slices.Concat(r.Run.Warnings, r.Warnings) {
		t.AddPainted("33", "warning", "  "+warning)
	}
	v := r.verdict()
	t.AddPainted(map[html.Tone]string{html.Good: "32;1", html.Bad: "31;1", html.Unsure: "33;1"}[v.Tone], v.Headline, "")
	if v.Rest != "" {
		t.Add(v.Rest)
	}
	t.Add(v.Conditions)
	_, err := t.WriteTo(w)
	return err
}

// textGroup writes the claims of a lock or of a scenario and what was violated, then a line for the rest.
func textGroup(t *format.Lines, g group) {
	if g.Scenario {
		t.AddPainted("1", g.Label, "  "+g.Title)
		if g.Warning != "" {
			t.Hang("  ", "Warns of: "+g.Warning)
		}
		t.Hang("  ", g.Doc)
	} else {
		t.AddPainted("1", g.Label, "  "+g.Doc)
	}
	cells, scores := lockTable(g.Main)
	if g.Scenario {
		cells, scores = scenarioTable(g.Main)
	}
	score := slices.Index(cells[0], "score")
	if len(cells) == 1 {
		t.Add("  nothing was claimed and nothing was violated")
	} else {
		t.PaintedColumns(cells, func(row, column int) string {
			if row == 0 || column != 0 && column != score {
				return ""
			}
			return map[checker.Score]string{
				checker.Kept: "32", checker.Caught: "32", checker.Broken: "31", checker.Missed: "31", checker.LeftUndecided: "33",
			}[scores[row-1]]
		})
		if n := len(claims(g.Rest)); n > 0 {
			t.Add("     and " + format.Plural(n, "property") + " measured without a claim, none violated")
		}
	}
	t.Add("")
}

// lockTable has a line for each claim of a lock, and its score.
func lockTable(all []claim) (cells [][]string, scores []checker.Score) {
	cells = [][]string{{"", "property", "expected", "observed", "score", "in", "weight"}}
	for _, c := range all {
		o := c.Gravest
		seen := observed(o.Observed)
		if text := inTrials(o); text != "" {
			seen = text
		} else if c.Times > 0 {
			seen = format.Plural(c.Times, "violation")
		}
		cells = append(cells, []string{o.badge().Symbol, c.Property, expectation(c.Expected), seen, o.Score.String(), c.where(), counts(c.Counts)})
		scores = append(scores, o.Score)
	}
	return cells, scores
}

// scenarioTable has a line for the claims of a scenario that came out alike for one lock, and its score.
func scenarioTable(all []claim) (cells [][]string, scores []checker.Score) {
	cells = [][]string{{"", "lock", "expected", "score", "property", "weight"}}
	for _, c := range all {
		o := c.Gravest
		weight := counts(c.Counts)
		if text := inTrials(o); text != "" {
			weight = text + "; " + weight
		}
		rows := mergeAlike(cells, []string{o.badge().Symbol, c.Lock, expectation(c.Expected), o.Score.String(), c.Property, weight}, 4)
		if len(rows) > len(cells) {
			cells, scores = rows, append(scores, o.Score)
		}
	}
	return cells, scores
}

// mergeAlike adds a row to a table or, if one of the rows differs from it only in the merged column, adds the text of that
// column to that row.
func mergeAlike(rows [][]string, row []string, merged int) [][]string {
	i := slices.IndexFunc(rows, func(other []string) bool {
		return slices.Equal(other[:merged], row[:merged]) && slices.Equal(other[merged+1:], row[merged+1:])
	})
	if i < 0 {
		return append(rows, row)
	}
	rows[i][merged] += ", " + row[merged]
	return rows
}

func textStores(t *format.Lines, r *Results) {
	rows, workload := r.stores()
	if len(rows) == 0 {
		return
	}
	t.AddPainted("1", "stores", fmt.Sprintf("  the best lock of each in the workload %s; the floor is a lock that nobody contends for", workload))
	cells := [][]string{{"store", "verdicts", "floor ms", "best lock", "goodput /s", "hand-off ms", "operations", "recovery x TTL"}}
	for _, row := range rows {
		b := row.Best
		cells = append(cells, []string{row.Server, row.verdicts(), row.Floor.Text, b.Label, b.Goodput.OrNone().Text, b.HandOff.OrNone().Text,
			b.Commands.OrNone().Text, b.Recovery.OrNone().Text})
	}
	t.PaintedColumns(cells, nil)
	t.Add("")
}

func textSales(t *format.Lines, rows []saleRow) {
	if len(rows) == 0 {
		return
	}
	t.AddPainted("1", "flash sale", "  "+saleSetup(rows))
	cells := [][]string{{"form", "lock", "sold", "orders/s", "x plain", "p50", "p99", "late", "spared the services", "commands lock", "stock"}}
	for _, r := range rows {
		cells = append(cells, []string{r.Form, r.Label, r.Balance(), format.Significant(r.Goodput), r.Ratio, format.Duration(r.P50), format.Duration(r.P99),
			format.Count(r.Late), r.Spared, r.LockCmd, r.StockCmd})
	}
	t.PaintedColumns(cells, nil)
	t.Add("")
}
