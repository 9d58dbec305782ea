package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/reports/charts"
	"lockbench/reports/figures"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// distribution is a lock's latency over all trials; its band spans the trials, up to where each has enough samples.
type distribution struct {
	charts.Line
	n int64
}

// distributionOf merges the histograms of the trials. One that cannot be decoded is an error: the file is broken.
func (v *view) distributionOf(subject, point, class string) (distribution, error) {
	d := distribution{Line: charts.Line{Name: subject}}
	var all []*hdrhistogram.Histogram
	merged, fewest := figures.NewHistogram(), int64(math.MaxInt64)
	for _, t := range v.counted(subject, point) {
		text, ok := t.Curves[class]
		if !ok {
			continue
		}
		h, err := hdrhistogram.Decode([]byte(text))
		if err != nil {
			return d, fmt.Errorf("%s: curve %s: %w", t.Dir, class, err)
		}
		merged.Merge(h)
		all, fewest = append(all, h), min(fewest, h.TotalCount())
	}
	d.n = merged.TotalCount()
	for _, p := range figures.DistributionOf(merged).Curve {
		at := charts.Point{X: p.Rank, Y: float64(max(1, p.NS))}
		if fewest >= figures.SamplesFor(p.Rank) {
			at.Low = math.Inf(1)
			for _, h := range all {
				ns := float64(max(1, h.ValueAtPercentile(100*p.Rank)))
				at.Low, at.High = min(at.Low, ns), max(at.High, ns)
			}
		}
		d.Points = append(d.Points, at)
	}
	return d, nil
}

// percentileCharts has a chart for each point and class: the classes are never mixed.
func (v *view) percentileCharts() (all []charts.Chart, err error) {
	classes := []string{"uncontended", "contended"}
	for _, p := range v.compared() {
		for i, class := range classes {
			c, e := v.percentileChart(p, class, classes[1-i])
			err = errors.Join(err, e)
			if c.SVG != "" {
				all = append(all, c)
			}
		}
	}
	return all, err
}

// percentileChart draws one class at one point, unless it is the rare one there: a tenth of the grants or less.
func (v *view) percentileChart(p Point, class, other string) (c charts.Chart, err error) {
	names, left := v.charted(p.ID)
	var lines []charts.Line
	var grants, drawn, few []string
	var n, others int64
	for _, name := range names {
		d, err := v.distributionOf(name, p.ID, class)
		o, otherErr := v.distributionOf(name, p.ID, other)
		if err := cmp.Or(err, otherErr); err != nil {
			return c, err
		}
		n, others = n+d.n, others+o.n
		if len(d.Points) < 2 {
			few = append(few, name)
			continue
		}
		lines, drawn, grants = append(lines, d.Line), append(drawn, name), append(grants, format.Count(int(d.n)))
	}
	if len(lines) == 0 || n*10 <= n+others {
		return c, nil
	}
	c = charts.Chart{ID: charts.Slug("percentiles", p.ID, class), Name: v.name(p), Note: left, Takeaway: percentileTakeaway(class, drawn, lines)}
	if len(few) > 0 {
		c.Note += " Too few grants for a line: " + format.Joined(few) + "."
	}
	c.Note += " " + greyed(drawn)
	c.Head, c.Rows = charts.RankTable(lines)
	c.Head = slices.Insert(c.Head, 1, "grants")
	for i, style := range v.series(drawn) {
		lines[i].Style, c.Rows[i] = style, slices.Insert(c.Rows[i], 1, grants[i])
	}
	c.Draw(charts.Percentiles(lines), fmt.Sprintf("Acquire latency by percentile, %s grants, %s", class, describe(p)))
	return c, nil
}

func percentileTakeaway(class string, drawn []string, lines []charts.Line) string {
	for _, rank := range slices.Backward(charts.Ranks()) {
		least, most, all := extremes(drawn, func(lock string) (float64, bool) { return lines[slices.Index(drawn, lock)].At(rank) })
		if !all {
			continue
		}
		text := fmt.Sprintf("%s of the %s grants came within %s with %s", format.RankName(rank), class, format.Duration(least.value), least.lock)
		if len(lines) == 1 {
			return text + "."
		}
		return fmt.Sprintf("%s, and within %s with %s: %s as long.", text, format.Duration(most.value), most.lock, format.Times(most.value/least.value))
	}
	return "The locks have too few grants for a percentile that all of them reach."
}

// mostColoured is how many lines are coloured in a chart that has more lines than there are colours.
const mostColoured = 6

// stylesOf gives each lock a style. A lock and its tuned one share the colour, and differ by dash and marker.
func stylesOf(subjects []Subject) map[string]charts.Style {
	styles, families, members := map[string]charts.Style{}, map[string]int{}, map[string]int{}
	n := 0
	for _, s := range subjects {
		if s.Role != Lock {
			styles[s.Name] = charts.Style{Color: charts.Grey}
			continue
		}
		family := strings.TrimSuffix(s.Name, tunedSuffix)
		if _, known := families[family]; !known {
			families[family] = len(families)
		}
		f := families[family]
		styles[s.Name] = charts.Style{Color: f % charts.Colors, Dash: members[family] + f/charts.Colors, Marker: n % charts.Markers}
		members[family]++
		n++
	}
	return styles
}

// series returns the styles of the lines of one chart, best first.
func (v *view) series(names []string) []charts.Style {
	all := make([]charts.Style, len(names))
	for i, name := range names {
		all[i] = v.styles[name]
		if len(names) > charts.Colors && i >= mostColoured {
			all[i].Color = charts.Grey
		}
	}
	return all
}

func greyed(names []string) string {
	if len(names) <= charts.Colors {
		return ""
	}
	return fmt.Sprintf("In colour are the first %d by rank; in grey: %s.", mostColoured, format.Joined(names[mostColoured:]))
}

func each[T any](of []T, draw func(T) (charts.Chart, bool)) []charts.Chart {
	var all []charts.Chart
	for _, x := range of {
		if c, ok := draw(x); ok {
			all = append(all, c)
		}
	}
	return all
}

// column is one of a chart's table; cell returns the text of a lock.
type column struct {
	head string
	cell func(lock string) string
}

func chartTable(names []string, columns []column) (head []string, rows [][]string) {
	head = []string{"lock"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	for _, name := range names {
		row := []string{name}
		for _, c := range columns {
			row = append(row, c.cell(name))
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (v *view) metricColumn(m Metric, p Point, write func(stats.Estimate) string) column {
	return column{m.Heading(), func(lock string) string {
		if e, ok := v.estimate(lock, p.ID, m.Name); ok {
			return write(e)
		}
		return format.None
	}}
}

func withSpan(e stats.Estimate) string {
	return strings.TrimSpace(format.Significant(e.Median) + " " + format.Span(e.Low, e.High))
}

type extreme struct {
	lock  string
	value float64
}

// extremes returns those with the least and the greatest value; all reports whether each lock has one.
func extremes(locks []string, value func(lock string) (float64, bool)) (least, most extreme, all bool) {
	all = true
	for _, lock := range locks {
		v, ok := value(lock)
		if !ok {
			all = false
			continue
		}
		if least.lock == "" || v < least.value {
			least = extreme{lock, v}
		}
		if most.lock == "" || v > most.value {
			most = extreme{lock, v}
		}
	}
	return least, most, all
}
