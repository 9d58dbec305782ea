package charts

import (
	"slices"

	"lockbench/reports/format"
)

// Percentiles returns a chart of latency distributions with logarithmic axes. In each line, X is a percentile rank
// below 1, and Y is a latency in nanoseconds. The horizontal position is 1/(1-rank).
func Percentiles(all []Line) Lines {
	far := 10.0
	all = slices.Clone(all)
	for i := range all {
		all[i].Points = slices.Clone(all[i].Points)
		for j, p := range all[i].Points {
			q := Point{X: 1 / (1 - p.X), Y: max(p.Y, 1) / 1e6}
			if p.interval() {
				q.Low, q.High = max(p.Low, 1)/1e6, max(p.High, 1)/1e6
			}
			all[i].Points[j] = q
			far = max(far, q.X)
		}
	}
	x := Axis{Low: 2, High: far, Log: true, Ticks: []Tick{{2, "50 %"}}}
	for v := 10.0; v <= far*1.0001; v *= 10 {
		x.Ticks = append(x.Ticks, Tick{v, format.RankName(1 - 1/v)})
	}
	return Lines{X: x, Y: Axis{Log: true, Unit: " ms"}, Lines: all}
}

// At returns the Y value of the point at X. If the line has no point there, ok is false.
func (l Line) At(x float64) (y float64, ok bool) {
	i := slices.IndexFunc(l.Points, func(p Point) bool { return p.X == x })
	if i < 0 {
		return 0, false
	}
	return l.Points[i].Y, true
}

// Ranks returns the percentile ranks that latency tables show, as fractions of 1.
func Ranks() []float64 { return []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} }

// RankTable returns the data table of a Percentiles chart. Each row holds the latencies of one line in milliseconds,
// with a column for each percentile rank.
func RankTable(lines []Line) (head []string, rows [][]string) {
	head = []string{"lock"}
	for _, line := range lines {
		rows = append(rows, []string{line.Name})
	}
	for _, rank := range Ranks() {
		if !slices.ContainsFunc(lines, func(l Line) bool { _, ok := l.At(rank); return ok }) {
			continue
		}
		head = append(head, format.RankName(rank)+", ms")
		for i, line := range lines {
			text := format.None
			if ns, ok := line.At(rank); ok {
				text = format.Milliseconds(int64(ns))
			}
			rows[i] = append(rows[i], text)
		}
	}
	return head, rows
}
