package run

import (
	"fmt"
	"lockbench/reports/figures"
	"lockbench/reports/format"
)

// cell is one figure of a table: Title says why there is none, or more than fits.
type cell struct {
	Text  string
	Ratio string // to the best of the table
	Title string
}

// latencyLine is a row of the measurements: grants that met others and grants that did not stand apart.
type latencyLine struct {
	Class string
	N     string
	Ranks []cell
}

// latencyLines are the rows of a measurement: one for each class that has samples, at least one.
func latencyLines(m Measurement) []latencyLine {
	var all []latencyLine
	for _, c := range []struct {
		name string
		d    figures.Distribution
	}{{"contended", m.Contended}, {"uncontended", m.Uncontended}} {
		if c.d.N > 0 {
			line := lineOf(c.name, c.d)
			line.compare(m)
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		all = append(all, lineOf("nothing granted", figures.Distribution{}))
	}
	return all
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
		return cell{Text: milliseconds(ns), Title: duration(ns)}
	}
	return cell{Text: none, Title: fmt.Sprintf("%s takes %s; there are %s", rankName(rank), plural(int(figures.SamplesFor(rank)), "sample"), format.Count(int(d.N)))}
}

// columns are those of a measurement that its lines share.
type columns struct {
	Goodput, Ceiling, HandOff, Commands, Jain, Longest, Others cell
}

func cellOf(m Measurement) columns {
	f := columns{
		Goodput: cell{Text: significant(m.Goodput.Median), Title: fmt.Sprintf("median of %s: %s to %s per second", plural(len(m.Trials), "trial"), significant(m.Goodput.Low), significant(m.Goodput.High))},
		Ceiling: cell{Text: none, Title: "no ceiling: several keys, no time inside, or nothing completed"},
		HandOff: rankCell(m.HandOff, 0.5),
		Jain:    cell{Text: none, Title: "nothing was completed"},
		Longest: cell{Text: none, Title: "nobody asked"},
		Others:  cell{Text: others(m)},
	}
	if part, ok := m.utilisation(); ok {
		f.Ceiling = cell{Text: percent(part), Title: fmt.Sprintf("of %s per second: one client after the other, each holding for the median of %s", significant(m.Ceiling), duration(int64(1e9/m.Ceiling)))}
	}
	if m.Sections > 0 {
		f.Jain = cell{Text: fmt.Sprintf("%.2f", m.Jain.Median), Title: shareTitle(m)}
	}
	if m.Longest.Ended != "" {
		f.Longest = cell{Text: milliseconds(m.Longest.NS), Title: "it ended in a grant"}
		if m.Longest.Censored() {
			f.Longest.Text = "> " + f.Longest.Text
			f.Longest.Title = fmt.Sprintf("censored: the client %s, and would have waited longer", wording(m.Longest.Ended))
		}
	}
	f.Commands = cell{Text: none, Title: m.CommandsWhy}
	if m.Commands != nil {
		f.Commands = cell{Text: fmt.Sprintf("%.2f", *m.Commands)}
	}
	f.compare(m)
	return f
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
	return fmt.Sprintf("median over trials; one client had at least %s and at most %s of the critical sections", percent(low), percent(high))
}

// others counts the acquires that were not granted, and the grants that stand in no histogram.
func others(m Measurement) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, format.Count(n)+" "+what)
		}
	}
	add(int(m.Refused.N), "refused")
	add(int(m.Unknown.N), "unknown")
	add(m.CutOff, "cut off")
	add(m.Reentries, "re-entries")
	add(m.OutOfRange, "out of range")
	return joined(parts)
}
