package reports

import (
	"fmt"
	"html/template"
	"slices"
)

// chart is one percentile plot with what is said of it.
type chart struct {
	SVG      template.HTML
	Takeaway string
	Note     string // why there is no plot, or what it leaves out
	Ranks    []string
	Rows     []chartRow
}

// chartRow is one line of the table beneath a plot: milliseconds by rank.
type chartRow struct {
	Label  string
	Values []string
}

// chartOf draws the distributions of the measurements that are given: one workload, without faults.
// Grants that met others and grants that did not are never mixed: the kind that is the more frequent over
// all of these locks is drawn.
func chartOf(id, workload string, all []Measurement, label func(lock, deployment string) string) (chart, error) {
	kind, pick := frequentKind(all)
	var curves []curve
	var thin []string
	for _, m := range all {
		name := label(m.Lock, m.Deployment)
		switch d := pick(&m); {
		case len(d.Curve) >= 2:
			curves = append(curves, curve{Label: name + named(m.Standing), Points: d.Curve})
		default:
			thin = append(thin, fmt.Sprintf("%s (%s)", name, plural(int(d.N), "grant")))
		}
	}
	var c chart
	if len(thin) > 0 {
		c.Note = fmt.Sprintf("Left out for want of samples: %s.", joined(thin))
	}
	if len(curves) == 0 {
		return c, nil
	}
	title := fmt.Sprintf("Acquire latency by percentile, %s, %s grants", workload, kind)
	c.Takeaway = takeaway(kind, all, pick, label)
	svg, err := percentilePlot(id, title, c.Takeaway, curves)
	if err != nil {
		return c, err
	}
	c.SVG = template.HTML(svg) // names in it were escaped when it was drawn
	c.fill(curves)
	return c, nil
}

// named says it beside the line of what is no lock.
func named(standing string) string {
	if standing == notALock {
		return " (not a lock)"
	}
	return ""
}

func frequentKind(all []Measurement) (kind string, pick func(*Measurement) Distribution) {
	var met, alone int64
	for _, m := range all {
		met += m.Contended.N
		alone += m.Uncontended.N
	}
	if met >= alone {
		return "contended", func(m *Measurement) Distribution { return m.Contended }
	}
	return "uncontended", func(m *Measurement) Distribution { return m.Uncontended }
}

// fill makes the table: the ranks that stand on the axis.
func (c *chart) fill(curves []curve) {
	ticks := []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999}
	longest := 0
	for _, v := range curves {
		row := chartRow{Label: v.Label}
		for i, rank := range ticks {
			text := none
			if p, ok := pointAt(v.Points, rank); ok {
				text = milliseconds(p.NS)
				longest = max(longest, i+1)
			}
			row.Values = append(row.Values, text)
		}
		c.Rows = append(c.Rows, row)
	}
	for i := range c.Rows {
		c.Rows[i].Values = c.Rows[i].Values[:longest]
	}
	for _, rank := range ticks[:longest] {
		c.Ranks = append(c.Ranks, rankName(rank))
	}
}

func pointAt(points []Percentile, rank float64) (Percentile, bool) {
	for _, p := range points {
		if p.Rank == rank {
			return p, true
		}
	}
	return Percentile{}, false
}

// takeaway compares the locks, leaving out what is none, at the highest percentile that all of them have.
func takeaway(kind string, all []Measurement, pick func(*Measurement) Distribution, label func(lock, deployment string) string) string {
	type value struct {
		name string
		ns   int64
	}
	high := ranks()
	slices.Reverse(high)
	for _, rank := range high {
		var values []value
		locks := 0
		for _, m := range all {
			d := pick(&m)
			if m.Standing != "" || d.N < samplesFor(0.5) {
				continue
			}
			locks++
			if ns, ok := d.At(rank); ok {
				values = append(values, value{label(m.Lock, m.Deployment), ns})
			}
		}
		if len(values) < locks || locks == 0 {
			continue
		}
		slices.SortStableFunc(values, func(a, b value) int { return int(a.ns - b.ns) })
		first, last := values[0], values[len(values)-1]
		if locks == 1 {
			return fmt.Sprintf("%s of the %s grants of %s came within %s.", rankName(rank), kind, first.name, duration(first.ns))
		}
		return fmt.Sprintf("At %s of the %s grants, %s waited least (%s) and %s most (%s), %s times as long.",
			rankName(rank), kind, first.name, duration(first.ns), last.name, duration(last.ns), significant(float64(last.ns)/float64(max(first.ns, 1))))
	}
	return "No lock that excludes has enough samples for a comparison."
}
