package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// distribution is one lock's latency at a point, of one class.
type distribution struct {
	subject string
	n       int64
	merged  []percentile // of all trials together, up to where ten samples remain
	band    []reach      // over the trials, up to where each has ten left
}

type percentile struct {
	rank float64
	ns   float64
}

// reach is the least and the greatest of the trials' percentiles of a rank.
type reach struct{ rank, low, high float64 }

// tailSamples must lie beyond a percentile, or it is one sample's luck.
const tailSamples = 10

// ranks are ten a decade of 1/(1-rank), from the median to where tailSamples of n remain.
func ranks(n int64) []float64 {
	var all []float64
	for decade := 1.0; ; decade *= 10 {
		for _, step := range []float64{1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8} {
			x := step * decade
			if x < 2 {
				continue
			}
			if float64(n)/x < tailSamples {
				return all
			}
			all = append(all, math.Round((1-1/x)*1e9)/1e9)
		}
	}
}

// distributionOf puts the trials of a place together. A histogram that cannot be read is an error: the file is broken.
func (v *view) distributionOf(subject, point, class string) (distribution, error) {
	d := distribution{subject: subject}
	var all []*hdrhistogram.Histogram
	for _, t := range v.trials[place{subject, point}] {
		text, ok := t.Curves[class]
		if !ok {
			continue
		}
		h, err := hdrhistogram.Decode([]byte(text))
		if err != nil {
			return d, fmt.Errorf("%s: curve %s: %w", t.Dir, class, err)
		}
		all = append(all, h)
	}
	if len(all) == 0 {
		return d, nil
	}
	merged := hdrhistogram.New(1, 3_600_000_000_000, 3)
	fewest := int64(math.MaxInt64)
	for _, h := range all {
		merged.Merge(h)
		fewest = min(fewest, h.TotalCount())
	}
	d.n = merged.TotalCount()
	for _, rank := range ranks(d.n) {
		d.merged = append(d.merged, percentile{rank, atRank(merged, rank)})
	}
	for _, rank := range ranks(fewest) {
		r := reach{rank, math.Inf(1), 0}
		for _, h := range all {
			r.low, r.high = min(r.low, atRank(h, rank)), max(r.high, atRank(h, rank))
		}
		d.band = append(d.band, r)
	}
	return d, nil
}

func atRank(h *hdrhistogram.Histogram, rank float64) float64 {
	return max(1, float64(h.ValueAtPercentile(100*rank)))
}

// at is a percentile of the table.
func (d distribution) at(rank float64) (ns float64, ok bool) {
	i := slices.IndexFunc(d.merged, func(p percentile) bool { return p.rank == rank })
	if i < 0 {
		return 0, false
	}
	return d.merged[i].ns, true
}

// percentileCharts are the latency of each point, with a chart for each class: they are never mixed.
func (v *view) percentileCharts() ([]charts.Chart, error) {
	var all []charts.Chart
	for _, p := range v.compared() {
		for _, class := range []string{"uncontended", "contended"} {
			c, err := v.percentileChart(p, class)
			if err != nil {
				return nil, err
			}
			if c.SVG != "" {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// percentileChart draws one class at one point; nothing where that class is the rare one there, a tenth of the grants or
// less.
func (v *view) percentileChart(p Point, class string) (charts.Chart, error) {
	names, left := v.charted(p.ID)
	var drawn []distribution
	var drawnNames, few []string
	var n, others int64
	for _, name := range names {
		d, err := v.distributionOf(name, p.ID, class)
		if err != nil {
			return charts.Chart{}, err
		}
		other, err := v.distributionOf(name, p.ID, opposite(class))
		if err != nil {
			return charts.Chart{}, err
		}
		n, others = n+d.n, others+other.n
		if len(d.merged) < 2 {
			few = append(few, name)
			continue
		}
		drawn, drawnNames = append(drawn, d), append(drawnNames, name)
	}
	if len(drawn) == 0 || n*10 <= n+others {
		return charts.Chart{}, nil
	}
	c := charts.Chart{ID: charts.Slug("percentiles", p.ID, class), Name: v.name(p), Note: left}
	if len(few) > 0 {
		c.Note += " Too few grants for a line: " + format.Joined(few) + "."
	}
	c.Note += " " + greyed(drawnNames)
	c.Takeaway = percentileTakeaway(class, drawn)
	c.Head, c.Rows = percentileTable(drawn)
	c.Draw(v.drawPercentiles(drawnNames, drawn), fmt.Sprintf("Acquire latency by percentile, %s grants, %s", class, describe(p)))
	return c, nil
}

func opposite(class string) string {
	if class == "contended" {
		return "uncontended"
	}
	return "contended"
}

func (v *view) drawPercentiles(names []string, drawn []distribution) charts.Lines {
	styles := v.series(names)
	lines := make([]charts.Line, len(drawn))
	for i, d := range drawn {
		lines[i] = charts.Line{Name: d.subject, Style: styles[i]}
		for j, p := range d.merged {
			at := charts.Point{X: p.rank, Y: p.ns}
			if j < len(d.band) { // of the same ranks, up to fewer
				at.Low, at.High = d.band[j].low, d.band[j].high
			}
			lines[i].Points = append(lines[i].Points, at)
		}
	}
	return charts.Percentiles(lines)
}

func tableRanks() []float64 { return []float64{0.5, 0.9, 0.99, 0.999, 0.9999} }

func percentileTable(drawn []distribution) (head []string, rows [][]string) {
	head = []string{"lock", "grants"}
	longest := 0
	for _, d := range drawn {
		row := []string{d.subject, format.Count(int(d.n))}
		for i, rank := range tableRanks() {
			text := format.None
			if ns, ok := d.at(rank); ok {
				text, longest = format.Significant(ns/1e6), max(longest, i+1)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	for i := range rows {
		rows[i] = rows[i][:2+longest]
	}
	for _, rank := range tableRanks()[:longest] {
		head = append(head, format.RankName(rank)+", ms")
	}
	return head, rows
}

// percentileTakeaway compares at the highest percentile of the table that all have.
func percentileTakeaway(class string, drawn []distribution) string {
	high := tableRanks()
	slices.Reverse(high)
	for _, rank := range high {
		type value struct {
			name string
			ns   float64
		}
		var values []value
		for _, d := range drawn {
			if ns, ok := d.at(rank); ok {
				values = append(values, value{d.subject, ns})
			}
		}
		if len(values) < len(drawn) {
			continue
		}
		slices.SortStableFunc(values, func(a, b value) int { return int(math.Copysign(1, a.ns-b.ns)) })
		first, last := values[0], values[len(values)-1]
		text := fmt.Sprintf("%s of the %s grants came within %s with %s", format.RankName(rank), class, format.Duration(first.ns), first.name)
		if len(values) == 1 {
			return text + "."
		}
		return fmt.Sprintf("%s, and within %s with %s: %s as long.", text, format.Duration(last.ns), last.name, format.Times(last.ns/first.ns))
	}
	return "The locks have too few grants for a percentile that all of them reach."
}
