package run

import (
	"fmt"
	"lockbench/reports/format"
	"math"
	"slices"
	"strconv"
)

// Recovery is how long it took, over the trials of a cell, from the end of a client to the next grant of what it
// had.
type Recovery struct {
	N         int       `json:"n"`
	TTLNS     int64     `json:"ttl_ns"`    // the lease that was asked for: the unit
	BoundNS   int64     `json:"bound_ns"`  // what is longer violates recovery: the lock's own bound, its longest back-off and 500 ms
	Multiples []float64 `json:"multiples"` // of the TTL, in rising order
}

// recoveryOf gathers what the trials measured; nil where nothing was, or where there is no lease to measure by.
func recoveryOf(trials []*trialRead) *Recovery {
	r := &Recovery{TTLNS: int64(trials[0].header.TTL), BoundNS: int64(trials[0].verdict.Bound)}
	if r.TTLNS <= 0 {
		return nil
	}
	for _, t := range trials {
		for _, took := range t.verdict.Recoveries {
			r.Multiples = append(r.Multiples, math.Round(1e4*float64(took)/float64(r.TTLNS))/1e4)
		}
	}
	if r.N = len(r.Multiples); r.N == 0 {
		return nil
	}
	slices.Sort(r.Multiples)
	return r
}

func (r *Recovery) median() float64 {
	return (r.Multiples[(r.N-1)/2] + r.Multiples[r.N/2]) / 2
}

// bound is in multiples of the TTL.
func (r *Recovery) bound() float64 { return float64(r.BoundNS) / float64(r.TTLNS) }

// recoveryRow is a cell's recoveries in words and as a drawing.
type recoveryRow struct {
	Label, Where            string
	N                       int
	Min, Median, Max, Bound string
	ID                      string
	Width, Height, BoundX   float64
	Bars                    []bar
	Ticks                   []tick
	Ground, LabelY          float64
}

// The measures of a recovery's drawing.
const (
	binWidth   = 0.25 // of a bar, in multiples of the TTL
	mostBins   = 40   // beyond them the last bar is of all that is longer
	recWidth   = 260
	recTop     = 6
	recGround  = 46
	recLabelAt = 60
)

// recoveries are the rows of the cells in which something recovered.
func (r *Results) recoveries() []recoveryRow {
	label := r.Run.labels()
	var rows []recoveryRow
	for _, m := range r.Measurements {
		if m.Recovery == nil {
			continue
		}
		row := recoveryRow{ID: "recovery-" + format.Count(len(rows)+1), Label: label(m.Lock, m.Deployment), Where: m.where(), N: m.Recovery.N,
			Min: times2(m.Recovery.Multiples[0]), Median: times2(m.Recovery.median()),
			Max: times2(m.Recovery.Multiples[m.Recovery.N-1]), Bound: times2(m.Recovery.bound())}
		row.draw(m.Recovery)
		rows = append(rows, row)
	}
	return rows
}

func times2(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// draw makes bars of how many recoveries took how long, from nothing to the bound or to the longest.
func (row *recoveryRow) draw(r *Recovery) {
	bins := min(mostBins, 1+int(max(r.bound(), r.Multiples[r.N-1])/binWidth))
	n := make([]int, bins)
	most := 0
	for _, v := range r.Multiples {
		i := min(bins-1, int(v/binWidth))
		n[i]++
		most = max(most, n[i])
	}
	row.Width, row.Height, row.Ground, row.LabelY = recWidth, recLabelAt+4, recGround, recLabelAt
	step := (recWidth - 20.0) / float64(bins)
	x := func(v float64) float64 { return 10 + min(v/binWidth, float64(bins))*step }
	for i, times := range n {
		if times == 0 {
			continue
		}
		h := max(2, (recGround-recTop)*float64(times)/float64(most))
		row.Bars = append(row.Bars, bar{X: x(float64(i)*binWidth) + 0.5, Y: recGround - h, W: max(1, step-1), H: h,
			Title: fmt.Sprintf("%s to %s x TTL: %s", times2(float64(i)*binWidth), times2(float64(i+1)*binWidth), format.Count(times))})
	}
	row.BoundX = x(r.bound())
	every := max(1, int(math.Ceil(float64(bins)*binWidth/6)))
	for v := 0; float64(v) <= float64(bins)*binWidth; v += every {
		row.Ticks = append(row.Ticks, tick{X: x(float64(v)), Label: strconv.Itoa(v)})
	}
}
