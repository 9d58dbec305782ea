package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

type pointTable struct {
	ID       string
	Name     string
	About    string
	Extra    []Metric // metrics shown in addition to goodput
	Locks    []tableRow
	Others   []tableRow // baselines and self-checks, shown below the locks
	All      []allMetrics
	Duration string // length of the measured window
}

// tableRow is a table row for one lock, baseline or self-check. If exclusion was violated, the report strikes out the
// measured values.
type tableRow struct {
	Rank     string
	Subject  Subject
	Notes    []string
	Violated string
	Starving string
	Goodput  string
	Interval string
	Ratio    string
	RatioIn  string // confidence interval of the field Ratio
	Differs  bool
	N        int
	Extra    []string
}

func (v *view) tables(points []Point) (all []pointTable) {
	for _, p := range points {
		rows, extra := v.rowsAt(p.ID), v.measuredAt(p)
		if len(rows) == 0 {
			continue
		}
		others := filter(rows, func(row *Row) bool { return row.subject.Role != Lock })
		t := pointTable{
			ID: charts.Slug("point", p.ID), Name: v.name(p), About: strings.TrimPrefix(describe(p), v.describeSettings(p)+", "),
			Duration: format.Setting(p.DurationNS), Extra: extra,
			Locks:  collect(v.ranking(p.ID), func(r Ranked) tableRow { return v.tableRow(r, p, extra) }),
			Others: collect(others, func(row *Row) tableRow { return v.tableRow(Ranked{Subject: row.Subject}, p, extra) }),
		}
		for some := range slices.Chunk(rows, sideBySide) {
			t.All = append(t.All, metricsOf(some))
		}
		all = append(all, t)
	}
	return all
}

// measuredAt returns the metrics to show in a table. Those of fairness come first, beside goodput, if clients share keys. In tables of
// locks, it omits metrics that no lock has. Acquire latencies are those of contended acquires if clients share keys, and those of
// uncontended acquires otherwise.
func (v *view) measuredAt(p Point) (all []Metric) {
	acquires := []string{"uncontended_p50", "uncontended_p99"}
	if p.Contended() {
		acquires = []string{"min_max_share", "longest_wait", "contended_p50", "contended_p99"}
	}
	for _, name := range slices.Concat(acquires, []string{"handoff_p50", "utilisation", "round_trip_p50"}) {
		m, _ := FindMetric(name)
		if slices.ContainsFunc(v.rowsAt(p.ID), func(row *Row) bool {
			_, ok := row.estimate(m.Name)
			return ok && (row.subject.Role == Lock || p.Section == ControlSection) // a metric that was measured only for baselines is omitted from tables of locks
		}) {
			all = append(all, m)
		}
	}
	return all
}

func (v *view) tableRow(r Ranked, p Point, extra []Metric) tableRow {
	row, _ := v.Row(r.Subject, p.ID)
	t := tableRow{Rank: format.None, Subject: *row.subject, N: row.Trials, Notes: row.notes()}
	if t.Subject.Role == Lock && row.Starving != "" {
		t.Starving = "starves clients: " + row.Starving
	}
	if r.Rank > 0 {
		t.Rank = strconv.Itoa(r.Rank)
		t.Ratio, t.RatioIn, t.Differs = ratioText(r.ToBest), format.Span(r.ToBest.Low, r.ToBest.High), r.ToBest.Differs
		if r.ToBest.A == r.ToBest.B || r.ToBest.Ratio == 1 && r.ToBest.Low == nil && r.Rank == 1 {
			t.Ratio, t.RatioIn = "1", "" // this row is the best lock, compared with itself
		}
	}
	if row.Unsafe != nil && (t.Subject.Role == Baseline || t.Subject.Role == Control) {
		t.Violated = "does not exclude, as expected"
	} else if row.Unsafe != nil {
		t.Violated = fmt.Sprintf("%s violated in %d of %d trials%s", row.Unsafe.Property, row.UnsafeIn, row.Trials, row.Unsafe.Foreseen())
	} else if r.Why != "" && r.Why != t.Starving && row.subject.Defect == "" {
		t.Notes = append(t.Notes, r.Why)
	}
	goodput, _ := FindMetric(rankedBy)
	t.Goodput, t.Interval = row.figure(goodput)
	t.Extra = collect(extra, func(m Metric) string { text, _ := row.figure(m); return text })
	return t
}

func (r *Row) figure(m Metric) (text, interval string) {
	e := r.Estimates[m.Name]
	if e.N == 0 || r.selective(m.Name) {
		return format.None, ""
	}
	return metricText(m, e.Median), format.Span(e.Low, e.High)
}

// kinds maps the role of a lock, baseline or self-check to its label in tables. Ordinary locks have no label.
var kinds = map[Role]string{
	Lock:     "",
	Control:  "self-check: known-broken lock",
	Baseline: "baseline",
	Again:    "self-check: the same lock again",
	Delayed:  "self-check: added delay",
	Stalled:  "self-check: stopped generator",
}

// Kind returns the label of a baseline, a self-check or a third-party lock, and "" for other locks.
func (s Subject) Kind() string {
	if s.Role == Lock && s.ThirdParty {
		return "third-party"
	}
	return kinds[s.Role]
}

func (r *Row) notes() (all []string) {
	e, measured := r.Estimates[rankedBy]
	for _, note := range []struct {
		applies bool
		text    string
	}{
		{r.subject.Defect != "" && r.subject.Role == Lock, r.subject.Defect},
		{r.Limited != "", "limited: " + r.Limited},
		{r.Unsteady > 0, fmt.Sprintf("not settled before %d of %d trials", r.Unsteady, r.Trials)},
		{r.Discarded > 0, format.Plural(r.Discarded, "trial") + " discarded"},
		{measured && e.Low == nil && r.Trials > 0, "too few trials for an interval"},
	} {
		if note.applies {
			all = append(all, note.text)
		}
	}
	return all
}

type allMetrics struct {
	Subjects []string
	Rows     []metricRow
}

type metricRow struct {
	Metric Metric
	Cells  []metricCell
}

type metricCell struct {
	Text, Interval string
	Struck         bool
}

// sideBySide is the number of table columns that fit on a printed page.
const sideBySide = 6

func metricsOf(rows []*Row) allMetrics {
	all := allMetrics{Subjects: collect(rows, func(row *Row) string { return row.Subject })}
	for _, m := range Metrics() {
		if slices.ContainsFunc(rows, func(row *Row) bool { return row.Estimates[m.Name].N > 0 }) {
			all.Rows = append(all.Rows, metricRow{m, collect(rows, func(row *Row) metricCell {
				text, interval := row.figure(m)
				return metricCell{text, interval, row.Unsafe != nil}
			})})
		}
	}
	return all
}

// Notice returns the remarks on a table row: violation, starving clients, kind of lock, and notes.
func (t tableRow) Notice() string {
	parts := slices.DeleteFunc([]string{t.Violated, t.Starving, t.Subject.Kind()}, func(s string) bool { return s == "" })
	return strings.Join(append(parts, t.Notes...), "; ")
}

// Noise returns " ~" for a ratio whose difference from 1 may be noise, and "" otherwise.
func (t tableRow) Noise() string {
	if t.Differs || t.Ratio == "" || t.Ratio == "1" || t.Ratio == format.None {
		return ""
	}
	return " ~"
}

// Text writes the summary for the terminal: the verdict, a table for each set of conditions, and the self-checks.
func Text(w io.Writer, r *Results) error {
	v, t := newView(r), &format.Lines{}
	d := v.verdict()
	t.Paragraph(d.Headline)
	t.Paragraph(d.Rest)
	for _, a := range d.Answers {
		t.Hang("  ", a.String())
	}
	t.Add("")
	if len(r.Withheld) == 0 {
		for _, p := range v.tables(v.compared()) {
			t.Paragraph(p.Name + " (" + p.About + ")")
			t.Columns(textRows(p))
			t.Add("")
		}
		for _, s := range v.tunedRows() {
			t.Paragraph("tuned " + s.B + ", " + s.Where + ": " + s.words())
		}
	}
	t.Columns(append([][]string{{"self-check", "result", "what came out"}}, collect(r.Checks, func(c Check) []string {
		return []string{c.Name, map[bool]string{true: "passed", false: "FAILED"}[c.OK], c.Seen}
	})...))
	t.Add("")
	t.Paragraph(d.Conditions)
	_, err := t.WriteTo(w)
	return err
}

// textRows returns the table for one set of conditions. It omits the measured values of locks that violated exclusion.
func textRows(p pointTable) [][]string {
	head := []string{"lock", "rank", "goodput /s", "95 % interval", "to the best", "95 % interval"}
	var shown []int // indexes of the metrics that the terminal table shows
	for i, m := range p.Extra {
		if m.Name != "jain" && m.Name != "utilisation" && m.Name != "handoff_p50" && m.Name != "uncontended_p99" && m.Name != "contended_p99" {
			head, shown = append(head, m.Heading()), append(shown, i)
		}
	}
	return append([][]string{append(head, "n", "")}, collect(slices.Concat(p.Locks, p.Others), func(r tableRow) []string {
		row := []string{r.Subject.Name, r.Rank, r.Goodput, r.Interval, r.Ratio + r.Noise(), r.RatioIn}
		further := collect(shown, func(i int) string { return r.Extra[i] })
		if r.Violated != "" {
			row = []string{r.Subject.Name, r.Rank, map[bool]string{true: "violated", false: format.None}[r.Subject.Role == Lock], "", "", ""}
			further = slices.Repeat([]string{format.None}, len(shown))
		}
		return append(append(row, further...), strconv.Itoa(r.N), r.Notice())
	})...)
}

func ratioText(t stats.Comparison) string {
	if t.Ratio <= 0 {
		return format.None
	}
	return format.Times(t.Ratio)
}
