package run

import (
	"fmt"
	"html/template"
	"lockbench/reports/figures"
	"slices"
)

// chart is one percentile plot with what is said of it.
type chart struct {
	SVG      template.HTML
	Kind     string // of the grants drawn
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

// chartOf draws the distributions of the measurements that are given: one workload, without faults. What
// is not a lock is not drawn, so that its speed neither shines nor squeezes the others together. Grants that met others and grants that did not are never mixed: the kind that is the more frequent over
// all of these locks is drawn.
func chartOf(id, workload string, all []Measurement, label func(lock, deployment string) string) (chart, error) {
	kind, pick := frequentKind(all)
	var curves []curve
	var left []string
	for _, m := range all {
		name := label(m.Lock, m.Deployment)
		switch d := pick(&m); {
		case m.Standing == notALock:
			left = append(left, name+" (not a lock)")
		case len(d.Curve) < 2:
			left = append(left, fmt.Sprintf("%s (%s: too few)", name, plural(int(d.N), "grant")))
		default:
			curves = append(curves, curve{Label: name, Points: d.Curve})
		}
	}
	c := chart{Kind: kind}
	if len(left) > 0 {
		c.Note = fmt.Sprintf("Not drawn: %s.", joined(left))
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

func frequentKind(all []Measurement) (kind string, pick func(*Measurement) figures.Distribution) {
	var met, alone int64
	for _, m := range all {
		met += m.Contended.N
		alone += m.Uncontended.N
	}
	if met >= alone {
		return "contended", func(m *Measurement) figures.Distribution { return m.Contended }
	}
	return "uncontended", func(m *Measurement) figures.Distribution { return m.Uncontended }
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

func pointAt(points []figures.Percentile, rank float64) (figures.Percentile, bool) {
	for _, p := range points {
		if p.Rank == rank {
			return p, true
		}
	}
	return figures.Percentile{}, false
}

// enoughTrials is how many each of two locks needs before a rank test can tell them apart.
const enoughTrials = 4

// chance warns of an order that rests on few trials.
func chance(all []Measurement) string {
	for _, m := range all {
		if m.Standing == "" && len(m.Trials) < enoughTrials {
			return fmt.Sprintf(" With fewer than %d trials each, the order may be chance.", enoughTrials)
		}
	}
	return ""
}

// takeaway compares the locks, leaving out what is none, at the highest percentile that all of them have.
func takeaway(kind string, all []Measurement, pick func(*Measurement) figures.Distribution, label func(lock, deployment string) string) string {
	type value struct {
		name string
		ns   int64
	}
	high := figures.Ranks()
	slices.Reverse(high)
	for _, rank := range high {
		var values []value
		locks := 0
		for _, m := range all {
			d := pick(&m)
			if m.Standing != "" || d.N < figures.SamplesFor(0.5) {
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
			return fmt.Sprintf("%s of the %s grants came within %s with %s, the only lock here.", rankName(rank), kind, duration(first.ns), first.name)
		}
		return fmt.Sprintf("%s of the %s grants came within %s with %s, the quickest here, and within %s with %s, the slowest: %s times as long.%s",
			rankName(rank), kind, duration(first.ns), first.name, duration(last.ns), last.name,
			significant(float64(last.ns)/float64(max(first.ns, 1))), chance(all))
	}
	return "No lock that excludes has enough samples for a comparison."
}
