package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/reports/charts"
	"lockbench/reports/figures"
	"lockbench/reports/format"
)

// distribution is one lock's latency of one class at a point. The X of a point is a rank and Y the nanoseconds of all
// trials together; its interval spans the trials, up to the rank at which each has enough samples.
type distribution struct {
	subject string
	n       int64
	points  []charts.Point
}

// distributionOf merges the histograms of the trials. One that cannot be decoded is an error: the file is broken.
func (v *view) distributionOf(subject, point, class string) (distribution, error) {
	d := distribution{subject: subject}
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
		d.points = append(d.points, at)
	}
	return d, nil
}

// at returns the nanoseconds of a rank of the table.
func (d distribution) at(rank float64) (ns float64, ok bool) {
	i := slices.IndexFunc(d.points, func(p charts.Point) bool { return p.X == rank })
	if i < 0 {
		return 0, false
	}
	return d.points[i].Y, true
}

// percentileCharts has a chart for each point and class: the classes are never mixed.
func (v *view) percentileCharts() ([]charts.Chart, error) {
	var all []charts.Chart
	for _, p := range v.compared() {
		for _, class := range [][2]string{{"uncontended", "contended"}, {"contended", "uncontended"}} {
			c, err := v.percentileChart(p, class[0], class[1])
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

// percentileChart draws one class at one point, unless it is the rare one there: a tenth of the grants or less.
func (v *view) percentileChart(p Point, class, other string) (c charts.Chart, err error) {
	names, left := v.charted(p.ID)
	var drawn []distribution
	var drawnNames, few []string
	var n, others int64
	for _, name := range names {
		d, err := v.distributionOf(name, p.ID, class)
		if err != nil {
			return c, err
		}
		o, err := v.distributionOf(name, p.ID, other)
		if err != nil {
			return c, err
		}
		n, others = n+d.n, others+o.n
		if len(d.points) < 2 {
			few = append(few, name)
			continue
		}
		drawn, drawnNames = append(drawn, d), append(drawnNames, name)
	}
	if len(drawn) == 0 || n*10 <= n+others {
		return c, nil
	}
	c = charts.Chart{ID: charts.Slug("percentiles", p.ID, class), Name: v.name(p), Note: left, Takeaway: percentileTakeaway(class, drawn)}
	if len(few) > 0 {
		c.Note += " Too few grants for a line: " + format.Joined(few) + "."
	}
	c.Note += " " + greyed(drawnNames)
	c.Head, c.Rows = percentileTable(drawnNames, drawn)
	lines := make([]charts.Line, len(drawn))
	for i, style := range v.series(drawnNames) {
		lines[i] = charts.Line{Name: drawnNames[i], Style: style, Points: drawn[i].points}
	}
	c.Draw(charts.Percentiles(lines), fmt.Sprintf("Acquire latency by percentile, %s grants, %s", class, describe(p)))
	return c, nil
}

func tableRanks() []float64 { return []float64{0.5, 0.9, 0.99, 0.999, 0.9999} }

// percentileTable has the ranks that some lock reaches.
func percentileTable(names []string, drawn []distribution) (head []string, rows [][]string) {
	columns := []column{{"grants", func(i int) string { return format.Count(int(drawn[i].n)) }}}
	for _, rank := range tableRanks() {
		if !slices.ContainsFunc(drawn, func(d distribution) bool { _, ok := d.at(rank); return ok }) {
			break
		}
		columns = append(columns, column{format.RankName(rank) + ", ms", func(i int) string {
			ns, ok := drawn[i].at(rank)
			return figureOr(ns/1e6, ok)
		}})
	}
	return chartTable(names, columns)
}

// percentileTakeaway compares at the highest percentile of the table that all locks have.
func percentileTakeaway(class string, drawn []distribution) string {
	for _, rank := range slices.Backward(tableRanks()) {
		value := func(i int) (float64, bool) { return drawn[i].at(rank) }
		first, last, all := extremes(len(drawn), value)
		if !all {
			continue
		}
		least, _ := value(first)
		most, _ := value(last)
		text := fmt.Sprintf("%s of the %s grants came within %s with %s", format.RankName(rank), class, format.Duration(least), drawn[first].subject)
		if len(drawn) == 1 {
			return text + "."
		}
		return fmt.Sprintf("%s, and within %s with %s: %s as long.", text, format.Duration(most), drawn[last].subject, format.Times(most/least))
	}
	return "The locks have too few grants for a percentile that all of them reach."
}
