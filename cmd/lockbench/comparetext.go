package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"lockbench/reports/bench"
	"lockbench/reports/stats"
)

// comparedTable is one metric's rows, as text.
type comparedTable struct {
	metric bench.Metric
	head   []string
	rows   []comparedRow
}

type comparedRow struct {
	point, subject string
	base, new      comparedCell
	verdict        string
}

// comparedCell is a figure, or the violation by which it means nothing.
type comparedCell struct{ figure, violated string }

// printCompared prints a table for each metric, each in the way of the format.
func printCompared(w io.Writer, c *bench.Comparisons, metrics []bench.Metric, table func(io.Writer, comparedTable) error) error {
	base, new := sideNames(c)
	if len(c.Rows) > 0 {
		fmt.Fprintf(w, "base: %s\nnew:  %s\n", base, new)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "note: %s\n", printable(note))
	}
	for _, m := range metrics {
		t := comparedTable{metric: m, head: []string{"point", "lock", "base", "new", "new vs base"}}
		for _, row := range c.Rows {
			if row.Metric == m.Name {
				t.rows = append(t.rows, comparedRowOf(c, row))
			}
		}
		if len(t.rows) == 0 {
			continue
		}
		if err := table(w, t); err != nil {
			return err
		}
	}
	return nil
}

// sideNames say what is compared with what.
func sideNames(c *bench.Comparisons) (base, new string) {
	name := func(s bench.Side) string {
		if s.Subject != "" {
			return fmt.Sprintf("%s in %s", printable(s.Subject), s.Dir)
		}
		return fmt.Sprintf("%s (suite %s, seed %d)", s.Dir, printable(s.Name), s.Seed)
	}
	return name(c.Base), name(c.New)
}

func comparedRowOf(c *bench.Comparisons, row bench.Compared) comparedRow {
	base, new := row.Estimates()
	r := comparedRow{
		point: printable(row.Point), subject: printable(row.A),
		base: comparedCell{figure: estimate(base)}, new: comparedCell{figure: estimate(new)},
		verdict: verdict(row),
	}
	if c.Base.Subject != "" {
		r.subject = printable(row.A + " vs " + row.B)
	}
	if row.BaseUnsafe != nil {
		r.base.violated = printable(row.BaseUnsafe.Property)
	}
	if row.NewUnsafe != nil {
		r.new.violated = printable(row.NewUnsafe.Property)
	}
	return r
}

// estimate is a median, and how far its interval reaches to the farther side.
func estimate(e stats.Estimate) string {
	if e.Low == nil || e.High == nil || e.Median == 0 {
		return short(e.Median) + " ± ∞"
	}
	return fmt.Sprintf("%s ± %.0f %%", short(e.Median), 100*max(*e.High-e.Median, e.Median-*e.Low)/max(e.Median, -e.Median))
}

// short writes four digits.
func short(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// verdict is the comparison of a row: ~ where it may be noise.
func verdict(row bench.Compared) string {
	if row.Unsafe() {
		return "no comparison: an unsafe lock's figures mean nothing"
	}
	pairs := fmt.Sprintf("(p=%.3f n=%d)", row.Holm, row.Pairs)
	switch {
	case !row.Differs:
		return "~ " + pairs
	case row.Ratio == 0:
		return fmt.Sprintf("%s, no ratio %s", row.Verdict(), pairs)
	case row.Low == nil || row.High == nil:
		return fmt.Sprintf("%s, %s %s", change(row.Ratio), row.Verdict(), pairs)
	}
	return fmt.Sprintf("%s [%s, %s], %s %s", change(row.Ratio), change(*row.Low), change(*row.High), row.Verdict(), pairs)
}

// change writes 1.123 as +12.3%, and what is more than ten times as much as a multiple.
func change(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("x%.1f", ratio)
	}
	return fmt.Sprintf("%+.1f%%", 100*(ratio-1))
}

// title names a metric and which way is better.
func title(m bench.Metric) string {
	better := map[int]string{+1: "more is better", -1: "less is better"}[m.Better]
	unit := m.Unit
	if unit != "" && better != "" {
		unit += ", "
	}
	if unit+better == "" {
		return m.Title
	}
	return fmt.Sprintf("%s (%s)", m.Title, unit+better)
}

func textTable(w io.Writer, t comparedTable) error {
	fmt.Fprintf(w, "\n%s\n", title(t.metric))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "  %s\n", strings.Join(t.head, "\t"))
	cell := func(c comparedCell) string {
		if c.violated != "" {
			return "violated: " + c.violated
		}
		return c.figure
	}
	for _, r := range t.rows {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", r.point, r.subject, cell(r.base), cell(r.new), r.verdict)
	}
	return tw.Flush()
}

func markdownTable(w io.Writer, t comparedTable) error {
	cell := func(c comparedCell) string {
		if c.violated != "" {
			return fmt.Sprintf("~~%s~~ violated: %s", c.figure, markdown(c.violated))
		}
		return c.figure
	}
	fmt.Fprintf(w, "\n**%s**\n\n| %s |\n|---|---|---:|---:|---|\n", title(t.metric), strings.Join(t.head, " | "))
	var err error
	for _, r := range t.rows {
		_, err = fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", markdown(r.point), markdown(r.subject), cell(r.base), cell(r.new), markdown(r.verdict))
	}
	return err
}

// markdown keeps a text from being read as anything but text.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "`", "\\`").Replace(s)
}

// printable keeps what a file says from being read by a terminal as commands.
func printable(s string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s), "-")
}
