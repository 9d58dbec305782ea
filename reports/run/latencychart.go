package run

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/reports/charts"
	"lockbench/reports/figures"
	"lockbench/reports/format"
)

var grantKinds = []string{"contended", "uncontended"}

func (m *Measurement) granted(kind string) figures.Distribution {
	if kind == "contended" {
		return m.Contended
	}
	return m.Uncontended
}

// frequentKind returns "contended" or "uncontended", whichever kind of grant is more frequent.
func frequentKind(all []Measurement) string {
	more := int64(0)
	for _, m := range all {
		more += m.Contended.N - m.Uncontended.N
	}
	if more < 0 {
		return "uncontended"
	}
	return "contended"
}

// latencyChart returns a chart of latency distributions with one line per lock. It shows either contended or uncontended
// grants, whichever are more frequent. It omits locks that two clients held at once, and locks with too few grants.
func latencyChart(id, workload string, all []Measurement, label func(lock, deployment string) string) charts.Chart {
	kind := frequentKind(all)
	var lines []charts.Line
	var left []string
	for _, m := range all {
		name := label(m.Lock, m.Deployment)
		switch d := m.granted(kind); {
		case m.Standing == notALock || m.Standing == heldAtOnce:
			left = append(left, name+" (two clients held it at once)")
		case len(d.Curve) < 2:
			left = append(left, fmt.Sprintf("%s (%s: too few)", name, format.Plural(int(d.N), "grant")))
		default:
			line := charts.Line{Name: name, Style: charts.StyleAt(len(lines))}
			for _, p := range d.Curve {
				line.Points = append(line.Points, charts.Point{X: p.Rank, Y: float64(p.NS)})
			}
			lines = append(lines, line)
		}
	}
	c := charts.Chart{Name: kind + " grants"}
	if len(left) > 0 {
		c.Note = fmt.Sprintf("Not drawn: %s.", format.Joined(left))
	}
	if len(lines) == 0 {
		return c
	}
	c.ID, c.Takeaway = id+"-latency", takeaway(kind, all, label)
	c.SVG = charts.Percentiles(lines).SVG(charts.Head{ID: id, Desc: c.Takeaway,
		Title: fmt.Sprintf("Acquire latency by percentile, %s, %s", workload, c.Name)})
	c.Note = fmt.Sprintf("Upwards: time from the intended start of an acquire to its grant. To the right: the part of the %s that took at most this long; each line ends when ten samples remain. %s", c.Name, c.Note)
	c.Head, c.Rows = charts.RankTable(lines)
	return c
}

// enoughTrials is the minimum number of trials of each lock for a rank test to find a difference between two locks.
const enoughTrials = 4

// takeaway returns a sentence that names the fastest and the slowest lock. It compares the highest percentile for which every
// lock has enough samples.
func takeaway(kind string, all []Measurement, label func(lock, deployment string) string) string {
	compared := slices.DeleteFunc(slices.Clone(all), func(m Measurement) bool {
		return m.Standing != "" || m.granted(kind).N < figures.SamplesFor(0.5)
	})
	for _, rank := range slices.Backward(figures.Ranks()) {
		at := func(m Measurement) int64 {
			ns, _ := m.granted(kind).At(rank)
			return ns
		}
		if len(compared) == 0 || slices.ContainsFunc(compared, func(m Measurement) bool { return at(m) == 0 }) {
			continue
		}
		slices.SortStableFunc(compared, func(a, b Measurement) int { return cmp.Compare(at(a), at(b)) })
		first, last := compared[0], compared[len(compared)-1]
		text := fmt.Sprintf("%s of the %s grants took at most %s with %s, ", format.RankName(rank), kind, format.Duration(at(first)), label(first.Lock, first.Deployment))
		if len(compared) == 1 {
			return text + "the only lock here."
		}
		text += fmt.Sprintf("the fastest here, and at most %s with %s, the slowest: %s times as long.",
			format.Duration(at(last)), label(last.Lock, last.Deployment), format.Significant(float64(at(last))/float64(max(at(first), 1))))
		if slices.ContainsFunc(all, func(m Measurement) bool { return m.Standing == "" && len(m.Trials) < enoughTrials }) {
			text += fmt.Sprintf(" With fewer than %d trials each, the order may be chance.", enoughTrials)
		}
		return text
	}
	return "No lock that excludes has enough samples for a comparison."
}
