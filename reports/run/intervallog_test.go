package run

import (
	"bytes"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/reports/figures"
)

// checkIntervalLogReadsBack checks that the HdrHistogram library can read latency.hlog.
func checkIntervalLogReadsBack(t *testing.T, dir string, r *Results) {
	m := r.Measurements[2]
	if m.Lock != "set-px" {
		t.Fatalf("cell 2 is of %s", m.Lock)
	}
	text := read(t, dir, m.Dir, "latency.hlog")
	for _, want := range []string{"#[Histogram log format version 1.3]\n", "#[BaseTime: 1795190646 (seconds since epoch)]\n", "Tag=granted-contended,", "Tag=hand-off,"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("latency.hlog lacks %q", want)
		}
	}
	merged := map[string]*hdrhistogram.Histogram{}
	intervals := map[string]int{}
	log := hdrhistogram.NewHistogramLogReader(bytes.NewReader(text))
	for {
		h, err := log.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if merged[h.Tag()] == nil {
			merged[h.Tag()] = figures.NewHistogram()
		}
		merged[h.Tag()].Merge(h)
		intervals[h.Tag()]++
		if start := h.StartTimeMs(); start/1000 != 1795190646 {
			t.Errorf("%s begins at %d ms", h.Tag(), start)
		}
	}
	for tag, want := range map[string]figures.Distribution{
		"granted-contended": m.Contended, "granted-uncontended": m.Uncontended, "hand-off": m.HandOff, "hold": m.Hold,
	} {
		h := merged[tag]
		if h == nil || intervals[tag] != 2 {
			t.Errorf("%s: %d intervals, want one for each of two trials", tag, intervals[tag])
			continue
		}
		p50, _ := want.At(0.5)
		if h.TotalCount() != want.N || h.ValueAtPercentile(50) != p50 || h.Max() != want.Max {
			t.Errorf("%s: n %d, p50 %d, max %d; want %d, %d, %d", tag, h.TotalCount(), h.ValueAtPercentile(50), h.Max(), want.N, p50, want.Max)
		}
	}
}
