package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// WriteText prints a table for each metric.
func (c *Comparisons) WriteText(w io.Writer, metrics []Metric) error {
	l := c.heading()
	for _, t := range c.Tables(metrics) {
		l.Add("")
		l.Add(t.Title)
		l.PaintedColumns(append([][]string{t.Head}, collect(t.Rows, func(row ComparedRow) []string { return row.Cells })...), nil)
	}
	_, err := l.WriteTo(w)
	return err
}

// WriteMarkdown prints a Markdown table for each metric.
func (c *Comparisons) WriteMarkdown(w io.Writer, metrics []Metric) error {
	l := c.heading()
	line := func(cells []string) { l.Add("| " + strings.Join(cells, " | ") + " |") }
	for _, t := range c.tables(metrics, format.Escaped, "~~%s~~ violated: %s") {
		l.Add("")
		l.Add("**" + t.Title + "**")
		l.Add("")
		line(t.Head)
		l.Add("|---|---|---:|---:|---|")
		for _, row := range t.Rows {
			line(row.Cells)
		}
	}
	_, err := l.WriteTo(w)
	return err
}

func (c *Comparisons) heading() *format.Lines {
	l := &format.Lines{}
	if len(c.Rows) > 0 {
		l.Add(c.Headline())
		l.Add("")
		l.Add("base: " + c.Base.String())
		l.Add("new:  " + c.New.String())
	}
	for _, note := range c.Notes {
		l.Paragraph("note: " + note)
	}
	return l
}

// Headline returns a sentence such as "3 of 8 rows differ, 2 better, 1 worse." Each row compares one metric of a lock
// under one set of test conditions.
func (c *Comparisons) Headline() string {
	count := map[string]int{} // number of rows by verdict
	for _, row := range c.Rows {
		count[row.Verdict()]++
	}
	text := fmt.Sprintf("%d of %s differ", len(c.Rows)-count["~"], format.Plural(len(c.Rows), "row"))
	for _, word := range []string{"better", "worse"} {
		if count[word] > 0 {
			text += fmt.Sprintf(", %d %s", count[word], word)
		}
	}
	return text + "."
}

// String returns the name of the lock and the folder of its run. If Subject is empty, it returns the folder, suite and
// seed of the run.
func (s Side) String() string {
	if s.Subject != "" {
		return fmt.Sprintf("%s in %s", s.Subject, s.Dir)
	}
	return fmt.Sprintf("%s (suite %s, seed %d)", s.Dir, s.Name, s.Seed)
}

// ComparedTable holds the comparisons of one metric. It has one row for each lock and set of test conditions.
type ComparedTable struct {
	Title string
	Head  []string
	Rows  []ComparedRow
}

// ComparedRow has a cell for each column of ComparedTable.Head.
type ComparedRow struct {
	Cells   []string
	Differs bool
}

// Tables returns a text table for each metric that has rows.
func (c *Comparisons) Tables(metrics []Metric) []ComparedTable {
	return c.tables(metrics, format.Clean, "")
}

// tables returns a table for each metric that has rows. It passes all names through the function escape. The parameter
// unsafe is a format string for the cells of locks that violated exclusion. Its arguments are the measured value and
// the violated property. If unsafe is "", such a cell contains only "violated".
func (c *Comparisons) tables(metrics []Metric, escape func(string) string, unsafe string) (all []ComparedTable) {
	figure := func(e stats.Estimate, violated *Violation) string {
		if violated == nil {
			return estimate(e)
		}
		if unsafe == "" {
			return "violated"
		}
		return fmt.Sprintf(unsafe, estimate(e), escape(violated.Property))
	}
	for _, m := range metrics {
		t := ComparedTable{Title: metricTitle(m), Head: []string{"point", "lock", "base", "new", "new vs base"}}
		for _, row := range c.Rows {
			if row.Metric != m.Name {
				continue
			}
			lock := row.A
			if c.Base.Subject != "" {
				lock += " vs " + row.B
			}
			base, new := row.Estimates()
			t.Rows = append(t.Rows, ComparedRow{Differs: row.Differs || row.Unsafe(), Cells: []string{
				escape(row.Point), escape(lock), figure(base, row.BaseUnsafe), figure(new, row.NewUnsafe), escape(comparison(row))}})
		}
		if len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// estimate formats a median and its error in percent. The error is the distance from the median to the farther bound of
// the confidence interval.
func estimate(e stats.Estimate) string {
	if e.Low == nil || e.High == nil || e.Median == 0 {
		return format.Significant(e.Median) + " ± ∞"
	}
	return fmt.Sprintf("%s ± %.0f %%", format.Significant(e.Median), 100*max(*e.High-e.Median, e.Median-*e.Low)/max(e.Median, -e.Median))
}

// comparison formats the ratio, the verdict and the p-value of a row. If the difference may be noise, "~" replaces the
// ratio and the verdict.
func comparison(row Compared) string {
	if row.Unsafe() {
		return "no comparison: exclusion was violated"
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

// change formats a ratio: 1.123 as +12.3%, and 12 as x12.0.
func change(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("x%.1f", ratio)
	}
	return fmt.Sprintf("%+.1f%%", 100*(ratio-1))
}

// metricTitle returns the title of a metric, with the unit and whether more or less is better.
func metricTitle(m Metric) string {
	better := map[int]string{+1: "more is better", -1: "less is better"}[m.Better]
	about := slices.DeleteFunc([]string{m.Unit, better}, func(s string) bool { return s == "" })
	if len(about) == 0 {
		return m.Title
	}
	return fmt.Sprintf("%s (%s)", m.Title, strings.Join(about, ", "))
}
