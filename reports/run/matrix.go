package run

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/figures"
	"lockbench/reports/format"
)

// Reasons why the speed of a lock is not compared.
const (
	notALock       = "two clients held it at once, as expected: its speed means nothing"
	heldAtOnce     = "two clients held it at once: its speed means nothing"
	promisesBroken = "promised holds overlapped in %s, as expected: its speed means nothing"
	splitKeys      = "its keys are split: several clients hold at once, and nothing here is comparable"
)

// setStandings sets the field Standing of each measurement whose speed must not be compared. In such a measurement, the
// lock violates an exclusion property, or splits a key into parts that it grants separately.
func setStandings(r *Results) {
	for i := range r.Measurements {
		m := &r.Measurements[i]
		gravest := 0
		for _, o := range r.Cells {
			if o.Lock != m.Lock || o.Deployment != m.Deployment || o.Scenario != m.Scenario || o.Observed != checker.Violated {
				continue
			}
			if text, gravity := standing(m, &o); gravity > gravest {
				m.Standing, gravest = text, gravity
			}
		}
		if m.Standing == "" && m.Keys >= 2*fewestKeys(r, m) {
			m.Standing = splitKeys
		}
	}
}

// fewestKeys returns the smallest number of keys that any lock used in the workload, at least 1. A lock that uses at least
// twice as many keys splits its keys.
func fewestKeys(r *Results, m *Measurement) int {
	fewest := m.Keys
	for _, other := range r.Measurements {
		if other.Workload == m.Workload && other.Keys > 0 {
			fewest = min(fewest, other.Keys)
		}
	}
	return max(1, fewest)
}

// standing returns the reason why a violation makes a measurement incomparable, or "" if it does not. It also returns the
// gravity of the reason. If several violations give reasons, the caller uses the reason with the highest gravity.
func standing(m *Measurement, o *Observation) (text string, gravity int) {
	here := o.Workload == m.Workload && (o.Fault == m.Fault || o.Fault == "none")
	control := o.Expected == histories.ToBeViolated && o.Fault == "none" // a violation without a fault that is expected; under a fault, even a correct lock may be expected to violate a property
	switch {
	case o.Property == "mutual-exclusion" && here && control:
		return notALock, 3
	case o.Property == "mutual-exclusion" && here:
		return heldAtOnce, 2
	case o.Property == "lease-exclusion" && control:
		return fmt.Sprintf(promisesBroken, o.Workload), 1
	}
	return "", 0
}

// cell is a value in a table.
type cell struct {
	Text  string
	Title string // reason why the value is missing, or details
}

// latencyLine is a table row with latencies of either contended or uncontended grants.
type latencyLine struct {
	Class string
	N     string
	Ranks []cell
}

// figureRow holds a measurement as formatted text. It has separate lines for contended and uncontended grants.
type figureRow struct {
	Measurement
	GoodputCell, CeilingCell, HandOffCell, CommandsCell, JainCell, LongestCell cell
	Others                                                                     string
	Lines                                                                      []latencyLine
}

func figuresIn(m Measurement) figureRow {
	f := figureRow{
		Measurement: m, Others: omittedCounts(m), HandOffCell: rankCell(m.HandOff, 0.5),
		GoodputCell: cell{Text: format.Significant(m.Goodput.Median),
			Title: fmt.Sprintf("median of %s: %s to %s per second",
				format.Plural(len(m.Trials), "trial"), format.Significant(m.Goodput.Low), format.Significant(m.Goodput.High))},
		CeilingCell:  cell{Text: format.None, Title: "no ceiling: several keys, no hold time, or nothing completed"},
		JainCell:     cell{Text: format.None, Title: "nothing was completed"},
		LongestCell:  cell{Text: format.None, Title: "no acquires"},
		CommandsCell: cell{Text: format.None, Title: m.CommandsWhy},
	}
	if m.Ceiling != 0 {
		f.CeilingCell = cell{Text: format.Percent(m.Goodput.Median / m.Ceiling),
			Title: fmt.Sprintf("of %s per second: one client after the other, each holding for the median of %s",
				format.Significant(m.Ceiling), format.Duration(math.Floor(1e9/m.Ceiling)))}
	}
	if m.Sections > 0 {
		f.JainCell = cell{Text: hundredths(m.Jain.Median), Title: shareTitle(m)}
	}
	if m.Longest.Ended != "" {
		f.LongestCell = cell{Text: format.Milliseconds(m.Longest.NS), Title: "it ended in a grant"}
		if m.Longest.Censored() {
			ended := string(m.Longest.Ended)
			if m.Longest.Ended == figures.CutOff {
				ended = "was cut off by the end"
			}
			f.LongestCell = cell{Text: "> " + f.LongestCell.Text, Title: "at least this long: the client " + ended}
		}
	}
	if m.Commands != nil {
		f.CommandsCell = cell{Text: format.Significant(*m.Commands)}
	}
	for _, kind := range grantKinds {
		if d := m.granted(kind); d.N > 0 {
			f.Lines = append(f.Lines, lineOf(kind, d))
		}
	}
	if len(f.Lines) == 0 {
		f.Lines = []latencyLine{lineOf("nothing granted", figures.Distribution{})}
	}
	return f
}

func hundredths(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return format.None
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func lineOf(name string, d figures.Distribution) latencyLine {
	l := latencyLine{Class: name, N: format.Count(int(d.N))}
	for _, rank := range figures.Ranks() {
		l.Ranks = append(l.Ranks, rankCell(d, rank))
	}
	return l
}

func rankCell(d figures.Distribution, rank float64) cell {
	if ns, ok := d.At(rank); ok {
		return cell{Text: format.Milliseconds(ns), Title: format.Duration(ns)}
	}
	return cell{Text: format.None, Title: fmt.Sprintf("%s takes %s; there are %s", format.RankName(rank),
		format.Plural(int(figures.SamplesFor(rank)), "sample"), format.Count(int(d.N)))}
}

func shareTitle(m Measurement) string {
	low, high := 1.0, 0.0
	for _, t := range m.Trials {
		if t.Sections > 0 {
			low, high = min(low, t.MinShare), max(high, t.MaxShare)
		}
	}
	return fmt.Sprintf("median over trials; one client had at least %s and at most %s of the critical sections", format.Percent(low), format.Percent(high))
}

// omittedCounts returns, as text, the counts that the latency table omits: refused, unknown and unfinished acquires,
// re-entrant grants, and durations outside the histograms.
func omittedCounts(m Measurement) string {
	var parts []string
	for i, n := range []int{int(m.Refused.N), int(m.Unknown.N), m.CutOff, m.Reentries, m.OutOfRange} {
		if n > 0 {
			parts = append(parts, format.Count(n)+" "+[]string{"refused", "unknown", "cut off", "re-entries", "out of range"}[i])
		}
	}
	return format.Joined(parts)
}

func networked(all []figureRow) []figureRow {
	return slices.DeleteFunc(slices.Clone(all), func(m figureRow) bool { return m.Network == nil })
}
