package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"lockbench/reports/format"
	"lockbench/reports/stats"
)

type style struct {
	escape func(string) string // of a text from a file
	unsafe string              // format of a figure that means nothing, and of the property that was violated
	table  func(w io.Writer, t ComparedTable) error
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
	if len(c.Rows) > 0 {
		fmt.Fprintf(w, "base: %s\nnew:  %s\n", c.Base, c.New)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "note: %s\n", printable(note))
	}
	for _, t := range c.tables(metrics, as) {
		if err := as.table(w, t); err != nil {
			return err
		}
	}
	return nil
}

// String says what is compared.
func (s Side) String() string {
	if s.Subject != "" {
		return fmt.Sprintf("%s in %s", printable(s.Subject), s.Dir)
	}
	return fmt.Sprintf("%s (suite %s, seed %d)", s.Dir, printable(s.Name), s.Seed)
}

// ComparedTable is what a comparison shows of one metric.
type ComparedTable struct {
	Title string
	Head  []string
	Rows  []ComparedRow
}

// ComparedRow has a cell for each column of the head.
type ComparedRow struct {
	Cells   []string
	Differs bool
}

// Tables returns a table for each metric that has rows, as text.
func (c *Comparisons) Tables(metrics []Metric) []ComparedTable { return c.tables(metrics, asText) }

func (c *Comparisons) tables(metrics []Metric, as style) []ComparedTable {
	var all []ComparedTable
	for _, m := range metrics {
		t := ComparedTable{Title: metricTitle(m), Head: []string{"point", "lock", "base", "new", "new vs base"}}
		for _, row := range c.Rows {
			if row.Metric == m.Name {
				t.Rows = append(t.Rows, ComparedRow{as.cells(c, row), row.Differs || row.Unsafe()})
			}
		}
		if len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
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
	better := map[int]string{+1: "more is better", -1: "less is better"}[m.Better]
	about := slices.DeleteFunc([]string{m.Unit, better}, func(s string) bool { return s == "" })
	if len(about) == 0 {
		return m.Title
	}
	return fmt.Sprintf("%s (%s)", m.Title, strings.Join(about, ", "))
}

func textTable(w io.Writer, t ComparedTable) error {
	fmt.Fprintf(w, "\n%s\n", t.Title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "  %s\n", strings.Join(t.Head, "\t"))
	for _, row := range t.Rows {
		fmt.Fprintf(tw, "  %s\n", strings.Join(row.Cells, "\t"))
	}
	return tw.Flush()
}

func markdownTable(w io.Writer, t ComparedTable) error {
	_, err := fmt.Fprintf(w, "\n**%s**\n\n| %s |\n|---|---|---:|---:|---|\n", t.Title, strings.Join(t.Head, " | "))
	for _, row := range t.Rows {
		_, err = fmt.Fprintf(w, "| %s |\n", strings.Join(row.Cells, " | "))
	}
	return err
}

// printable keeps what a file says from being read by a terminal as commands.
func printable(s string) string { return cmp.Or(format.Clean(s), "-") }
