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

// distribution is the latency curve of a lock over all trials. A band around the curve shows the range of the trials.
// The band omits percentiles for which some trial has too few samples.
type distribution struct {
	charts.Line
	n int64
}

// distribution returns the latency curve of one class of acquires, such as "contended".
func (r *Row) distribution(class string) (distribution, error) {
	d := distribution{Line: charts.Line{Name: r.Subject}}
	var all []*hdrhistogram.Histogram
	merged, fewest := figures.NewHistogram(), int64(math.MaxInt64)
	for _, t := range r.counted {
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

// percentiles returns one chart for uncontended grants and one for contended grants. It omits a chart that would cover
// at most a tenth of all grants.
func (d drawing) percentiles() (all []charts.Chart, err error) {
	classes := []string{"uncontended", "contended"}
	var of [2][]distribution
	var grants [2]int64
	for i, class := range classes {
		for _, row := range d.rows {
			one, err := row.distribution(class)
			if err != nil {
				return nil, err
			}
			of[i], grants[i] = append(of[i], one), grants[i]+one.n
		}
	}
	for i, class := range classes {
		drawn := filter(of[i], func(one distribution) bool { return len(one.Points) > 1 })
		if len(drawn) > 0 && grants[i]*10 > grants[0]+grants[1] {
			all = append(all, d.percentileChart(class, drawn))
		}
	}
	return all, nil
}

func (d drawing) percentileChart(class string, drawn []distribution) charts.Chart {
	c := d.chart("percentiles", class)
	lines := collect(drawn, func(one distribution) charts.Line { return one.Line })
	names := collect(drawn, func(one distribution) string { return one.Name })
	few := slices.DeleteFunc(d.names(), func(name string) bool { return slices.Contains(names, name) })
	if len(few) > 0 {
		c.Note += " Too few grants for a line: " + format.Joined(few) + "."
	}
	c.Note, c.Takeaway = c.Note+" "+greyed(names), percentileTakeaway(class, drawn)
	c.Head, c.Rows = charts.RankTable(lines)
	c.Head = slices.Insert(c.Head, 1, "grants")
	for i, style := range d.series(names) {
		lines[i].Style, c.Rows[i] = style, slices.Insert(c.Rows[i], 1, format.Count(int(drawn[i].n)))
	}
	c.Draw(charts.Percentiles(lines), fmt.Sprintf("Acquire latency by percentile, %s grants, %s", class, describe(d.Point)))
	return c
}

func percentileTakeaway(class string, drawn []distribution) string {
	for _, rank := range slices.Backward(charts.Ranks()) {
		least, most, all := extremes(drawn, func(d distribution) (string, float64, bool) {
			ns, ok := d.At(rank)
			return d.Name, ns, ok
		})
		if !all {
			continue
		}
		text := fmt.Sprintf("%s of the %s grants came within %s with %s", format.RankName(rank), class, format.Duration(least.value), least.lock)
		if len(drawn) == 1 {
			return text + "."
		}
		return fmt.Sprintf("%s, and within %s with %s: %s as long.",
			text, format.Duration(most.value), most.lock, format.Times(most.value/least.value))
	}
	return "The locks have too few grants for a percentile that all of them reach."
}
