package run

import (
	"strconv"

	"lockbench/reports/figures"
)

// best is the best figure of each kind among the locks of one workload that nothing speaks against: what
// the others are measured by. Nil where there are fewer than two to compare.
type best struct {
	goodput  float64
	commands float64
	ranks    map[string]map[float64]int64 // by class of grants and rank, in ns
}

func bestOf(all []Measurement) *best {
	b := best{ranks: map[string]map[float64]int64{}}
	compared := 0
	for _, m := range all {
		if m.Standing != "" {
			continue
		}
		compared++
		b.goodput = max(b.goodput, m.Goodput.Median)
		if m.Commands != nil && (b.commands == 0 || *m.Commands < b.commands) {
			b.commands = *m.Commands
		}
		for class, d := range m.granted() {
			b.least(class, d)
		}
	}
	if compared < 2 {
		return nil
	}
	return &b
}

func (b *best) least(class string, d figures.Distribution) {
	if b.ranks[class] == nil {
		b.ranks[class] = map[float64]int64{}
	}
	for _, rank := range figures.Ranks() {
		ns, ok := d.At(rank)
		if least := b.ranks[class][rank]; ok && (least == 0 || ns < least) {
			b.ranks[class][rank] = ns
		}
	}
}

// granted are the latencies of grants, by class.
func (m *Measurement) granted() map[string]figures.Distribution {
	return map[string]figures.Distribution{"contended": m.Contended, "uncontended": m.Uncontended}
}

// ratio is a figure as a multiple of the best; empty where there is nothing to compare with.
func ratio(v, best float64) string {
	switch {
	case v == 0 || best == 0:
		return ""
	case v == best:
		return "best"
	}
	return strconv.FormatFloat(v/best, 'f', 2, 64) + "×"
}

// compare adds to the cells of a measurement how they stand to the best.
func (f *columns) compare(m Measurement) {
	if m.best == nil || m.Standing != "" {
		return
	}
	f.Goodput.Ratio = ratio(m.Goodput.Median, m.best.goodput)
	if m.Commands != nil {
		f.Commands.Ratio = ratio(*m.Commands, m.best.commands)
	}
}

// compare adds to the percentiles of one class how they stand to the best.
func (l *latencyLine) compare(m Measurement) {
	if m.best == nil || m.Standing != "" {
		return
	}
	for i, rank := range figures.Ranks() {
		if ns, ok := m.granted()[l.Class].At(rank); ok {
			l.Ranks[i].Ratio = ratio(float64(ns), float64(m.best.ranks[l.Class][rank]))
		}
	}
}
