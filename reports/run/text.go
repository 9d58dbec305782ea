package run

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/stats"
)

// Text writes the results for the terminal: expectations that were not met, a row for each lock, then the verdict. If verbose
// is true, it writes every check. It returns the first error of w.
func (r *Results) Text(w io.Writer, color, verbose bool) error {
	t := &format.Lines{Color: color}
	for _, g := range r.groups() {
		if !verbose && !g.Scenario {
			g.Main = slices.DeleteFunc(g.Main, func(c check) bool { return !c.Gravest.failed() })
		}
		if verbose || len(g.Main) > 0 {
			textGroup(t, g)
		}
	}
	if len(r.Run.Scenarios) == 0 {
		r.overview().text(t)
	}
	if rows := r.saleRows(); len(rows) > 0 {
		t.AddPainted("1", "flash sale", "  "+saleSetup(rows))
		t.PaintedColumns(saleTable(rows), nil)
		t.Add("")
	}
	for _, gap := range r.Gaps {
		t.Hang("missing  ", gap.Dir+": "+gap.Reason)
	}
	for _, trial := range r.Trials {
		if trial.State == Discarded {
			t.Hang("discarded  ", trial.Dir+": "+trial.Reason)
		}
	}
	for _, warning := range slices.Concat(r.Run.Warnings, r.Warnings) {
		t.Hang("warning  ", warning)
	}
	v := r.verdict()
	t.PaintedParagraph(map[html.Tone]string{html.Good: "32;1", html.Bad: "31;1", html.Unsure: "33;1"}[v.Tone], v.Headline)
	t.Paragraph(v.Rest)
	t.Paragraph(v.Conditions)
	_, err := t.WriteTo(w)
	return err
}

// textGroup writes the results of a lock or scenario. Properties that have no expectation and were not violated are only
// counted.
func textGroup(t *format.Lines, g group) {
	table := lockTable
	if g.Scenario {
		table = scenarioTable
		t.AddPainted("1", g.Label, "  "+g.Title)
		if g.Warning != "" {
			t.Hang("  ", "Warns of: "+g.Warning)
		}
		t.Hang("  ", g.Doc)
	} else {
		t.AddPainted("1", g.Label, "  "+g.Doc)
	}
	if len(g.Main) == 0 {
		t.Add("  nothing was expected and nothing was violated")
	} else {
		cells := table(g.Main)
		result, codes := slices.Index(cells[0], "result"), map[string]string{}
		for r, look := range looks {
			codes[checker.Result(r).String()] = look.codes
		}
		t.PaintedColumns(cells, func(row, column int) string {
			if column != 0 && column != result {
				return ""
			}
			return codes[cells[row][result]]
		})
		if n := len(g.Rest); n > 0 {
			t.Add("     and " + format.Plural(n, "property") + " observed without an expectation, none violated")
		}
	}
	t.Add("")
}

// lockTable returns a table with a row for each check of a lock.
func lockTable(all []check) [][]string {
	cells := [][]string{{"", "property", "expected", "result", "in", "evidence"}}
	for _, c := range all {
		o := c.Gravest
		cells = append(cells, []string{o.Badge().Symbol, o.Property, expectation(o.Expected), o.Result.String(), c.Where(), c.Outcome() + "; " + counts(c.Counts)})
	}
	return cells
}

// scenarioTable returns a table of the results of a scenario. Results that differ only in the property share a row.
func scenarioTable(all []check) [][]string {
	cells := [][]string{{"", "lock", "expected", "result", "property", "evidence"}}
	for _, c := range all {
		o := c.Gravest
		weight := counts(c.Counts)
		if text := inTrials(o); text != "" {
			weight = text + "; " + weight
		}
		cells = mergeAlike(cells, []string{o.Badge().Symbol, c.Label, expectation(o.Expected), o.Result.String(), o.Property, weight}, 4)
	}
	return cells
}

// docRows returns table rows for the results of a scenario. Results that differ only in the property share a row.
func docRows(all []check) [][]string {
	var rows [][]string
	for _, c := range all {
		o, seen := c.Gravest, c.Outcome()
		lock, _, _ := strings.Cut(c.Label, " under ")
		if o.Result != checker.NoExpectation && o.Result != checker.Pass && o.Result != checker.XFail {
			seen = "**" + o.Result.String() + "** " + seen
		}
		because := o.Because
		if o.Expected == histories.Unspecified {
			because = cmp.Or(because, "observed without an expectation")
		}
		rows = mergeAlike(rows, []string{"`" + lock + "`", o.Fault, o.Property, expectation(o.Expected), cellText(seen), cellText(because)}, 2)
	}
	return rows
}

// cellText escapes a text for a cell of a Markdown table.
func cellText(s string) string { return strings.ReplaceAll(format.Clean(s), "|", `\|`) }

// mergeAlike adds row to rows. If an existing row differs only in one column, mergeAlike appends the text of this
// column to the existing row. The parameter merged is the index of the column.
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

// saleTable returns a table of the results of the flash-sale workloads, with only the columns that fit a terminal.
func saleTable(rows []saleRow) [][]string {
	cells := [][]string{{"form", "lock", "sold", "orders/s", "x plain", "p50", "p99", "late", "spared"}}
	for _, r := range rows {
		cells = append(cells, []string{r.Form, r.Label, r.Balance(), format.Significant(r.Goodput), r.Ratio, format.Duration(r.P50), format.Duration(r.P99),
			format.Count(r.Late), r.Spared})
	}
	return cells
}

// counts returns, as text, the number of operations and all other counts that are not 0.
func counts(c checker.Counts) string {
	parts := []string{format.Plural(c.Operations, "operation")}
	nouns := []string{"hand-off", "expiry", "takeover", "fault", "loss", "false loss", "stale operation"}
	for i, n := range []int{c.HandOffs, c.Expiries, c.Takeovers, c.Faults, c.Losses, c.FalseLosses, c.Stale} {
		if n > 0 {
			parts = append(parts, format.Plural(n, nouns[i]))
		}
	}
	return strings.Join(parts, ", ")
}

// looks holds the symbol, the colour and the rank of each result. Any two results have different symbols, for readers
// who cannot see colours.
var looks = [...]struct {
	symbol, codes string // colour codes of a terminal
	gravity       int
}{
	checker.NoExpectation: {"·", "", 0}, checker.Pass: {"✓", "32", 1}, checker.XFail: {"◉", "31", 2},
	checker.Inconclusive: {"?", "33", 4}, checker.XPass: {"!", "31", 5}, checker.Fail: {"✗", "31", 6},
}

const violatedOnly = 3 // rank of a violation without an expectation

// Gravity returns the rank of a result; a higher rank is worse. A violation without an expectation ranks between met and unmet
// expectations.
func Gravity(s checker.Result, o checker.Observed) int {
	if s == checker.NoExpectation && o == checker.Violated {
		return violatedOnly
	}
	return looks[s].gravity
}

// BadgeOf returns the badge of a result: its symbol, word and CSS class. A violation without an expectation has a separate
// symbol and CSS class.
func BadgeOf(s checker.Result, o checker.Observed) html.Badge {
	b := html.Badge{Class: "result-" + strings.ToLower(s.String()), Symbol: looks[s].symbol, Word: s.String()}
	if Gravity(s, o) == violatedOnly {
		b.Class, b.Symbol = "result-violated", "×"
	}
	return b
}

// Badge returns the symbol, word and CSS class of the result.
func (o Observation) Badge() html.Badge { return BadgeOf(o.Result, o.Observed) }

func (o Observation) gravity() int { return Gravity(o.Result, o.Observed) }

func expectation(e histories.Expected) string {
	if e == histories.Unspecified {
		return format.None
	}
	return e.String()
}

// observed returns the word for an observation: "no violation" if the property held.
func observed(o checker.Observed) string {
	if o == checker.Held {
		return "no violation"
	}
	return o.String()
}

// labels returns a function that names a lock. The name is lock@deployment, or only lock if the deployment is the usual
// one of the lock. If no deployment is declared as usual, a lock's only deployment counts as usual.
func (m *Manifest) labels() func(lock, deployment string) string {
	usual := map[string]string{} // usual deployment by lock; "several": the lock ran on several deployments, and none of them is declared as usual
	for _, c := range m.Plan {
		if d, seen := usual[c.Lock]; seen && d != c.Deployment {
			usual[c.Lock] = "several"
		} else {
			usual[c.Lock] = c.Deployment
		}
	}
	for _, l := range m.Locks {
		usual[l.Name] = cmp.Or(l.Deployment, usual[l.Name])
	}
	return func(lock, deployment string) string {
		if deployment == "" || deployment == usual[lock] {
			return lock
		}
		return lock + "@" + deployment
	}
}

// inTrials returns text that states in how many trials the property was violated or undecided. Unless the property is
// undecided, the text includes the 95 % interval of the violation rate. With fewer than two trials, the text is "".
func inTrials(o Observation) string {
	if o.Trials < 2 {
		return ""
	}
	switch n := format.Count(o.Trials); o.Observed {
	case checker.Violated:
		return fmt.Sprintf("violated in %s of %s trials (95 %% interval %s)", format.Count(o.ViolatedIn), n, rateInterval(o.ViolatedIn, o.Trials))
	case checker.Undecided:
		return fmt.Sprintf("undecided in %s of %s trials", format.Count(o.UndecidedIn), n)
	case checker.Held:
		return fmt.Sprintf("violated in 0 of %s trials (95 %%: %s)", n, rateInterval(0, o.Trials))
	}
	return ""
}

// Rate returns "hits of n" with the 95 % interval of the proportion.
func Rate(hits, n int) string {
	return fmt.Sprintf("%s of %s (95 %%: %s)", format.Count(hits), format.Count(n), rateInterval(hits, n))
}

func rateInterval(hits, n int) string {
	low, high := stats.BinomialInterval(hits, n)
	if hits == 0 {
		return "below " + outward(high, math.Ceil) + " %"
	}
	return outward(low, math.Floor) + "-" + outward(high, math.Ceil) + " %"
}

// outward returns a proportion as a percentage without the % sign. The parameter round rounds the percentage: below 10
// % to a tenth, otherwise to a whole number.
func outward(part float64, round func(float64) float64) string {
	if part < 0.1 {
		return strconv.FormatFloat(round(1000*part)/10, 'f', 1, 64)
	}
	return strconv.FormatFloat(round(100*part), 'f', 0, 64)
}
