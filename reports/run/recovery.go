package run

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// Recovery holds the recovery times of a lock in one workload under one fault. A recovery time is the time from the death of a
// holder to the next grant of the same key.
type Recovery struct {
	N         int       `json:"n"`
	TTLNS     int64     `json:"ttl_ns"`    // requested lease, the unit of the recovery times
	BoundNS   int64     `json:"bound_ns"`  // maximum allowed recovery time: TTL + delay until the store frees an expired lease + longest back-off + 500 ms
	Multiples []float64 `json:"multiples"` // recovery times in multiples of the TTL, in ascending order
}

// recoveryOf returns the recovery times of the trials. It returns nil if no recovery was measured or the lock has no lease.
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

func (r *Recovery) median() float64 { return stats.Median(r.Multiples) }

func (r *Recovery) bound() float64 { return float64(r.BoundNS) / float64(r.TTLNS) }

// recoveryRow holds the recovery times of a lock as formatted multiples of the lease.
type recoveryRow struct {
	Label, Where            string
	N                       int
	Min, Median, Max, Bound string
	Drawing                 template.HTML
}

func (r *Results) recoveries() []recoveryRow {
	label := r.Run.labels()
	var rows []recoveryRow
	for _, m := range r.Measurements {
		took := m.Recovery
		if took == nil {
			continue
		}
		row := recoveryRow{Label: label(m.Lock, m.Deployment), Where: m.Where(), N: took.N, Min: hundredths(took.Multiples[0]),
			Median: hundredths(took.median()), Max: hundredths(took.Multiples[took.N-1]), Bound: hundredths(took.bound())}
		row.Drawing = took.histogram().SVG(charts.Head{ID: "recovery-" + format.Count(len(rows)+1),
			Title: fmt.Sprintf("%d recoveries of %s, %s, in multiples of the TTL", row.N, row.Label, row.Where),
			Desc:  fmt.Sprintf("%s to %s, median %s; the bound is %s", row.Min, row.Max, row.Median, row.Bound)})
		rows = append(rows, row)
	}
	return rows
}

const (
	binWidth = 0.25 // width of a bar, in multiples of the TTL
	mostBins = 40   // the last bar counts all longer recovery times
)

// histogram counts recovery times by duration. It extends from 0 to the maximum allowed or the longest measured
// recovery time, but has at most mostBins bars.
func (r *Recovery) histogram() charts.Histogram {
	h := charts.Histogram{Width: binWidth, Bound: r.bound()}
	h.Counts = make([]int, min(mostBins, 1+int(max(r.bound(), r.Multiples[r.N-1])/binWidth)))
	for _, v := range r.Multiples {
		h.Counts[min(len(h.Counts)-1, int(v/binWidth))]++
	}
	h.Title = func(bin int) string {
		return fmt.Sprintf("%s to %s x TTL: %s", hundredths(float64(bin)*binWidth), hundredths(float64(bin+1)*binWidth), format.Count(h.Counts[bin]))
	}
	return h
}
