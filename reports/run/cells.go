package run

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"lockbench/reports/figures"
	"lockbench/reports/format"
)

// cell is one figure of a table.
type cell struct {
	Text  string
	Ratio string // to the best of the table
	Title string // why there is none, or more than fits
}

// OrNone returns the cell, or one that says that there is no figure.
func (c cell) OrNone() cell {
	if c.Text == "" {
		c.Text = format.None
	}
	return c
}

// latencyLine is a row of the measurements: contended and uncontended grants are never mixed.
type latencyLine struct {
	Class string
	N     string
	Ranks []cell
}

// figureRow is a measurement as it is shown: its figures, and a line for each kind of grants that it has.
type figureRow struct {
	Measurement
	GoodputCell, CeilingCell, HandOffCell, CommandsCell, JainCell, LongestCell cell
	Others                                                                     string
	Lines                                                                      []latencyLine
}

func figuresIn(m Measurement) figureRow {
	f := figureRow{
		Measurement: m, Others: others(m), HandOffCell: rankCell(m.HandOff, 0.5),
		GoodputCell:  cell{Text: format.Significant(m.Goodput.Median), Title: fmt.Sprintf("median of %s: %s to %s per second", format.Plural(len(m.Trials), "trial"), format.Significant(m.Goodput.Low), format.Significant(m.Goodput.High))},
		CeilingCell:  cell{Text: format.None, Title: "no ceiling: several keys, no time inside, or nothing completed"},
		JainCell:     cell{Text: format.None, Title: "nothing was completed"},
		LongestCell:  cell{Text: format.None, Title: "nobody asked"},
		CommandsCell: cell{Text: format.None, Title: m.CommandsWhy},
	}
	if part, ok := m.utilisation(); ok {
		f.CeilingCell = cell{Text: format.Percent(part), Title: fmt.Sprintf("of %s per second: one client after the other, each holding for the median of %s", format.Significant(m.Ceiling), format.Duration(math.Floor(1e9/m.Ceiling)))}
	}
	if m.Sections > 0 {
		f.JainCell = cell{Text: hundredths(m.Jain.Median), Title: shareTitle(m)}
	}
	if m.Longest.Ended != "" {
		f.LongestCell = cell{Text: format.Milliseconds(m.Longest.NS), Title: "it ended in a grant"}
		if m.Longest.Censored() {
			f.LongestCell = cell{Text: "> " + f.LongestCell.Text, Title: fmt.Sprintf("censored: the client %s, and would have waited longer", wording(m.Longest.Ended))}
		}
	}
	if m.Commands != nil {
		f.CommandsCell = cell{Text: hundredths(*m.Commands)}
	}
	for _, kind := range grantKinds() {
		if d := kind.of(&m); d.N > 0 {
			f.Lines = append(f.Lines, lineOf(kind.name, d))
		}
	}
	if len(f.Lines) == 0 {
		f.Lines = []latencyLine{lineOf("nothing granted", figures.Distribution{})}
	}
	return f
}

// figureRows returns the rows of one table.
func figureRows(all []Measurement) []figureRow {
	rows := make([]figureRow, len(all))
	var sound []*figureRow
	for i, m := range all {
		if rows[i] = figuresIn(m); m.Standing == "" {
			sound = append(sound, &rows[i])
		}
	}
	if len(sound) < 2 {
		return rows
	}
	setRatios(sound, true, func(r *figureRow) (float64, *cell) { return r.Goodput.Median, &r.GoodputCell })
	setRatios(sound, false, func(r *figureRow) (float64, *cell) {
		if r.Commands == nil {
			return 0, nil
		}
		return *r.Commands, &r.CommandsCell
	})
	for _, kind := range grantKinds() {
		for i, rank := range figures.Ranks() {
			setRatios(sound, false, func(r *figureRow) (float64, *cell) {
				ns, ok := kind.of(&r.Measurement).At(rank)
				if !ok {
					return 0, nil
				}
				return float64(ns), &r.Lines[slices.IndexFunc(r.Lines, func(l latencyLine) bool { return l.Class == kind.name })].Ranks[i]
			})
		}
	}
	return rows
}

// setRatios shows one figure of locks that nothing speaks against as a multiple of the best, which is the greatest or the
// least of them.
func setRatios(rows []*figureRow, greatest bool, figure func(*figureRow) (float64, *cell)) {
	best := 0.0
	for _, r := range rows {
		if v, _ := figure(r); v > 0 && (best == 0 || v > best == greatest) {
			best = v
		}
	}
	for _, r := range rows {
		switch v, to := figure(r); {
		case v == 0:
		case v == best:
			to.Ratio = "best"
		default:
			to.Ratio = hundredths(v/best) + "×"
		}
	}
}

// hundredths writes two decimal places.
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
	return cell{Text: format.None, Title: fmt.Sprintf("%s takes %s; there are %s", format.RankName(rank), format.Plural(int(figures.SamplesFor(rank)), "sample"), format.Count(int(d.N)))}
}

func wording(e figures.Ended) string {
	if e == figures.CutOff {
		return "was cut off by the end"
	}
	return string(e)
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

// others counts the acquires that were not granted, and the grants that are in no histogram.
func others(m Measurement) string {
	var parts []string
	for _, counted := range []struct {
		n    int
		what string
	}{
		{int(m.Refused.N), "refused"}, {int(m.Unknown.N), "unknown"}, {m.CutOff, "cut off"}, {m.Reentries, "re-entries"}, {m.OutOfRange, "out of range"},
	} {
		if counted.n > 0 {
			parts = append(parts, format.Count(counted.n)+" "+counted.what)
		}
	}
	return format.Joined(parts)
}

// networked returns the rows of measurements in which a proxy counted.
func networked(all []figureRow) []figureRow {
	return slices.DeleteFunc(slices.Clone(all), func(m figureRow) bool { return m.Network == nil })
}
