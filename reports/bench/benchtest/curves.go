package benchtest

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/reports/bench"
)

// curves draws samples around the medians of the figures.
func curves(o Options, s bench.Subject, p bench.Point, block int, f bench.Figures, sections int) (bench.Curves, error) {
	c := bench.Curves{}
	for _, class := range []struct {
		name, figure string
		spread       float64
		n            int
	}{
		{"uncontended", "uncontended_p50", 0.4, freeSamples(p, sections)},
		{"contended", "contended_p50", 0.3, sections},
		{"hand-off", "handoff_p50", 0.5, sections},
		{"hold", "hold_mean", 0.02, sections},
		{"late", "late_p99", 0.8, sections},
		{"round-trip", "round_trip_p50", 0.3, 2000},
	} {
		median, ok := f[class.figure]
		if !ok {
			continue
		}
		r := random(o, "curve", class.name, s.Name, p.ID, block)
		h := hdrhistogram.New(1, int64(time.Hour), 3)
		for range min(class.n, 4000) { // enough for the 99.9th percentile
			ms := median * math.Exp(class.spread*r.NormFloat64())
			if r.IntN(200) == 0 {
				ms *= 5 // a tail
			}
			if err := h.RecordValue(int64(ms * 1e6)); err != nil {
				return nil, err
			}
		}
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, err
		}
		c[class.name] = string(text)
	}
	return c, nil
}

// freeSamples is how many acquires found nobody: all of them, or a few.
func freeSamples(p bench.Point, sections int) int {
	if p.Contended() {
		return sections/50 + 1
	}
	return sections
}

// timeline spreads the acquires of the trial, its warm-up included, over slices; a fault moves them up.
func timeline(o Options, s bench.Subject, p bench.Point, block int, f bench.Figures) *bench.Timeline {
	const slices, slice = 35, 20 * time.Millisecond
	t := &bench.Timeline{SliceNS: int64(slice)}
	for ns := int64(10_000); ns <= int64(10*time.Second); ns = ns * 3162 / 1000 {
		t.Edges = append(t.Edges, ns)
	}
	if p.Fault != "none" {
		t.Faults = []bench.Episode{{Name: p.Fault, FromNS: 12 * int64(slice), ToNS: 19 * int64(slice)}}
	}
	median, ok := f["contended_p50"]
	if !ok {
		median = max(f["uncontended_p50"], 0.001)
	}
	r := random(o, "timeline", s.Name, p.ID, block)
	for at := range slices {
		row := make([]int, len(t.Edges))
		t.Counts = append(t.Counts, row)
		if len(t.Faults) > 0 && at >= 12 && at < 19 { // nobody is granted anything
			continue
		}
		scale := 1.0
		if len(t.Faults) > 0 && at == 19 {
			scale = 8
		}
		for range min(200, int(f["goodput"]*slice.Seconds())) {
			ns := int64(1e6 * scale * median * math.Exp(0.4*r.NormFloat64()))
			row[rowOf(t.Edges, ns)]++
		}
	}
	return t
}

func rowOf(edges []int64, ns int64) int {
	row := 0
	for row+1 < len(edges) && edges[row+1] <= ns {
		row++
	}
	return row
}
