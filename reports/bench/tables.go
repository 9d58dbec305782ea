package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// pointTable compares the subjects of a point.
type pointTable struct {
	ID       string
	Name     string
	About    string
	Extra    []Metric // beside goodput
	Locks    []tableRow
	Others   []tableRow // floors and controls, below a rule
	All      []allMetrics
	Duration string // of the measured window
}

// tableRow is one subject of a table; of an unsafe one the figures are struck out.
type tableRow struct {
	Rank     string
	Subject  Subject
	Kind     string // of what is not a lock to choose
	Notes    []string
	Violated string
	Goodput  string
	Interval string
	Ratio    string
	RatioIn  string // its interval
	Differs  bool
	N        int
	Extra    []string
}

// tableMetrics stand beside goodput in the table of a point, those that were measured there.
func tableMetrics() []string {
	return []string{"utilisation", "uncontended_p50", "uncontended_p99", "contended_p50", "contended_p99", "handoff_p50", "jain", "round_trip_p50"}
}

func (v *view) tables(points []Point) []pointTable {
	var all []pointTable
	for _, p := range points {
		t := pointTable{ID: charts.Slug("point", p.ID), Name: v.name(p), About: strings.TrimPrefix(describe(p), v.apart(p)+", "), Duration: format.Setting(p.DurationNS)}
		t.Extra = v.measuredAt(p, tableMetrics())
		for _, r := range v.ranked(p.ID) {
			t.Locks = append(t.Locks, v.tableRow(r, p, t.Extra))
		}
		for _, r := range v.ranking(p.ID) {
			if r.Rank == 0 {
				t.Locks = append(t.Locks, v.tableRow(r, p, t.Extra))
			}
		}
		for _, s := range v.Plan.Subjects {
			if _, measured := v.Row(s.Name, p.ID); measured && s.Role != Lock {
				t.Others = append(t.Others, v.tableRow(Ranked{Subject: s.Name}, p, t.Extra))
			}
		}
		if len(t.Locks)+len(t.Others) == 0 {
			continue
		}
		t.All = v.allMetrics(p)
		all = append(all, t)
	}
	return all
}

// measuredAt are the metrics of which some lock has a figure at the point, or anything at a point of controls. Those that a tenth of its grants or fewer are
// of, as contended ones where each client has a key of its own, are told from the others by their own class.
func (v *view) measuredAt(p Point, names []string) []Metric {
	var all []Metric
	for _, name := range names {
		if p.Contended() && strings.HasPrefix(name, "uncontended") || !p.Contended() && strings.HasPrefix(name, "contended") {
			continue
		}
		m, ok := FindMetric(name)
		for _, row := range v.Rows {
			if s, _ := v.Plan.Subject(row.Subject); s.Role != Lock && p.Section != ControlSection || row.Point != p.ID {
				continue // a floor's figures are no reason for a column
			}
			if _, measured := v.estimate(row.Subject, p.ID, name); ok && measured {
				all = append(all, m)
				break
			}
		}
	}
	return all
}

func (v *view) tableRow(r Ranked, p Point, extra []Metric) tableRow {
	s, _ := v.Plan.Subject(r.Subject)
	t := tableRow{Rank: format.None, Subject: s, Kind: kindText(s)}
	if r.Rank > 0 {
		t.Rank = strconv.Itoa(r.Rank)
		t.Ratio, t.RatioIn, t.Differs = ratioText(r.ToBest), format.Span(r.ToBest.Low, r.ToBest.High), r.ToBest.Differs
		if r.ToBest.A == r.ToBest.B || r.ToBest.Ratio == 1 && r.ToBest.Low == nil && r.Rank == 1 {
			t.Ratio, t.RatioIn = "1", "" // the best itself
		}
	}
	row, ok := v.Row(r.Subject, p.ID)
	if !ok {
		t.Notes = append(t.Notes, "not measured")
		return t
	}
	t.N, t.Notes = row.Trials, rowNotes(*row, s)
	if r.Why != "" && row.Unsafe == nil {
		t.Notes = append(t.Notes, r.Why)
	}
	if row.Unsafe != nil {
		t.Violated = fmt.Sprintf("%s violated in %d of %d trials", row.Unsafe.Property, row.UnsafeIn, row.Trials)
		if row.Unsafe.Expected && s.Role == Lock {
			t.Violated += ", as its own table says"
		}
	}
	shown := func(name string) (text, interval string) {
		e, ok := row.Estimates[name]
		if !ok || e.N == 0 {
			return format.None, ""
		}
		m, _ := FindMetric(name)
		return metricText(m, e.Median), format.Span(e.Low, e.High)
	}
	t.Goodput, t.Interval = shown("goodput")
	for _, m := range extra {
		text, _ := shown(m.Name)
		t.Extra = append(t.Extra, text)
	}
	return t
}

// kindText tells what is not a lock to choose from.
func kindText(s Subject) string {
	switch s.Role {
	case Control:
		return "control: known to be broken"
	case Floor:
		return "floor"
	case Again:
		return "control: the same lock again"
	case Delayed:
		return "control: behind a known delay"
	case Stalled:
		return "control: the generator stands still"
	}
	if s.Peer {
		return "library of others"
	}
	return ""
}

func rowNotes(row Row, s Subject) []string {
	var all []string
	if s.Defect != "" && s.Role == Lock {
		all = append(all, s.Defect)
	}
	if row.Limited != "" {
		all = append(all, "limited: "+row.Limited)
	}
	if row.Unsteady > 0 {
		all = append(all, fmt.Sprintf("not settled before %d of %d trials", row.Unsteady, row.Trials))
	}
	if row.Void > 0 {
		all = append(all, format.Plural(row.Void, "trial")+" void")
	}
	if e, ok := row.Estimates["goodput"]; ok && e.Low == nil && row.Trials > 0 {
		all = append(all, "too few trials for an interval")
	}
	return all
}

// allMetrics is every figure of some subjects of a point, side by side.
type allMetrics struct {
	Subjects []string
	Struck   []bool
	Rows     []metricRow
}

type metricRow struct {
	Metric Metric
	Cells  []metricCell
}

type metricCell struct{ Text, Interval string }

// sideBySide is how many subjects a sheet of paper has room for.
const sideBySide = 6

func (v *view) allMetrics(p Point) []allMetrics {
	var rows []*Row
	for _, s := range v.Plan.Subjects {
		if row, ok := v.Row(s.Name, p.ID); ok {
			rows = append(rows, row)
		}
	}
	var all []allMetrics
	for some := range slices.Chunk(rows, sideBySide) {
		all = append(all, metricsOf(some))
	}
	return all
}

func metricsOf(rows []*Row) allMetrics {
	var all allMetrics
	for _, row := range rows {
		all.Subjects, all.Struck = append(all.Subjects, row.Subject), append(all.Struck, row.Unsafe != nil)
	}
	for _, m := range Metrics() {
		line, some := metricRow{Metric: m}, false
		for _, row := range rows {
			cell := metricCell{Text: format.None}
			if e, ok := row.Estimates[m.Name]; ok && e.N > 0 {
				cell, some = metricCell{metricText(m, e.Median), format.Span(e.Low, e.High)}, true
			}
			line.Cells = append(line.Cells, cell)
		}
		if some {
			all.Rows = append(all.Rows, line)
		}
	}
	return all
}

// Heading is the metric's title with its unit.
func (m metricRow) Heading() string { return heading(m.Metric) }

// Notice is what there is to say of the row, in one line.
func (t tableRow) Notice() string {
	parts := slices.DeleteFunc([]string{t.Violated, t.Kind}, func(s string) bool { return s == "" })
	return strings.Join(append(parts, t.Notes...), "; ")
}

// Noise marks a ratio that may be nothing but that.
func (t tableRow) Noise() string {
	if t.Differs || t.Ratio == "" || t.Ratio == "1" || t.Ratio == format.None {
		return ""
	}
	return " ~"
}
