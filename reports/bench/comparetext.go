package bench

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// style is a way to write tables.
type style struct {
	escape func(string) string // of a text from a file
	unsafe string              // format of a figure that means nothing, and of the property that was violated
	table  func(w io.Writer, title string, rows [][]string) error
}

var (
	asText     = style{printable, "violated: %[2]s", textTable}
	asMarkdown = style{func(s string) string { return format.Escaped(printable(s)) }, "~~%s~~ violated: %s", markdownTable}
)

// WriteText prints a table for each metric.
func (c *Comparisons) WriteText(w io.Writer, metrics []Metric) error {
	return c.write(w, metrics, asText)
}

// WriteMarkdown prints a Markdown table for each metric.
func (c *Comparisons) WriteMarkdown(w io.Writer, metrics []Metric) error {
	return c.write(w, metrics, asMarkdown)
}

func (c *Comparisons) write(w io.Writer, metrics []Metric, as style) error {
	base, new := sideNames(c)
	if len(c.Rows) > 0 {
		fmt.Fprintf(w, "base: %s\nnew:  %s\n", base, new)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "note: %s\n", printable(note))
	}
	for _, m := range metrics {
		rows := [][]string{{"point", "lock", "base", "new", "new vs base"}}
		for _, row := range c.Rows {
			if row.Metric == m.Name {
				rows = append(rows, as.cells(c, row))
			}
		}
		if len(rows) == 1 {
			continue
		}
		if err := as.table(w, metricTitle(m), rows); err != nil {
			return err
		}
	}
	return nil
}

// sideNames say what is compared with what.
func sideNames(c *Comparisons) (base, new string) {
	name := func(s Side) string {
		if s.Subject != "" {
			return fmt.Sprintf("%s in %s", printable(s.Subject), s.Dir)
		}
		return fmt.Sprintf("%s (suite %s, seed %d)", s.Dir, printable(s.Name), s.Seed)
	}
	return name(c.Base), name(c.New)
}

func (s style) cells(c *Comparisons, row Compared) []string {
	figure := func(e stats.Estimate, unsafe *Violation) string {
		if unsafe == nil {
			return estimate(e)
		}
		return fmt.Sprintf(s.unsafe, estimate(e), s.escape(unsafe.Property))
	}
	lock := row.A
	if c.Base.Subject != "" {
		lock += " vs " + row.B
	}
	base, new := row.Estimates()
	return []string{s.escape(row.Point), s.escape(lock), figure(base, row.BaseUnsafe), figure(new, row.NewUnsafe), s.escape(comparison(row))}
}

// estimate writes a median, and how far its interval reaches to the farther side.
func estimate(e stats.Estimate) string {
	if e.Low == nil || e.High == nil || e.Median == 0 {
		return format.Significant(e.Median) + " ± ∞"
	}
	return fmt.Sprintf("%s ± %.0f %%", format.Significant(e.Median), 100*max(*e.High-e.Median, e.Median-*e.Low)/max(e.Median, -e.Median))
}

// comparison writes how a row compares: ~ where it may be noise.
func comparison(row Compared) string {
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

// metricTitle names a metric and which way is better.
func metricTitle(m Metric) string {
	about := m.Unit
	if better := map[int]string{+1: "more is better", -1: "less is better"}[m.Better]; about != "" && better != "" {
		about += ", " + better
	} else {
		about += better
	}
	if about == "" {
		return m.Title
	}
	return fmt.Sprintf("%s (%s)", m.Title, about)
}

func textTable(w io.Writer, title string, rows [][]string) error {
	fmt.Fprintf(w, "\n%s\n", title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(tw, "  %s\n", strings.Join(row, "\t"))
	}
	return tw.Flush()
}

func markdownTable(w io.Writer, title string, rows [][]string) error {
	_, err := fmt.Fprintf(w, "\n**%s**\n\n", title)
	for i, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			_, err = fmt.Fprintln(w, "|---|---|---:|---:|---|")
		}
	}
	return err
}

// printable keeps what a file says from being read by a terminal as commands.
func printable(s string) string { return cmp.Or(format.Clean(s), "-") }
