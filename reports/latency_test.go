package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/histories"
)

func TestPercentilesNeedSamples(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		want  int // percentiles printed
		curve float64
	}{
		"none":           {0, 0, 0},
		"too few":        {19, 0, 0},
		"the median":     {20, 1, 0.5},
		"not quite p90":  {99, 1, 1 - 1/8.0},
		"p90":            {100, 2, 0.9},
		"p99":            {1000, 3, 0.99},
		"not quite p999": {9999, 3, 1 - 1/800.0},
		"p999":           {10000, 4, 0.999},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistogram()
			for i := range c.n {
				h.RecordValue(int64(i + 1))
			}
			d := distributionOf(h)
			if len(d.Percentiles) != c.want {
				t.Errorf("%d percentiles of %d samples, want %d", len(d.Percentiles), c.n, c.want)
			}
			if c.curve == 0 {
				if len(d.Curve) != 0 {
					t.Errorf("a curve of %d samples", c.n)
				}
				return
			}
			last := d.Curve[len(d.Curve)-1]
			if !near(last.Rank, c.curve) {
				t.Errorf("the curve ends at %v, want %v", last.Rank, c.curve)
			}
			if beyond := float64(c.n) * (1 - last.Rank); beyond < tailSamples-1e-6 {
				t.Errorf("only %v samples beyond the end of the curve", beyond)
			}
		})
	}
}

func TestOutOfRangeIsCounted(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 0, 2*time.Hour)
	s.acquire(1, 2, "k", 0, ms)
	got := statsOfScript(t, histories.Header{Clients: 2}, &s)
	if got.outOfRange != 1 {
		t.Errorf("%d out of range, want 1", got.outOfRange)
	}
	if got.longest.NS != int64(2*time.Hour) {
		t.Errorf("the longest wait is %v: it stands in no histogram, and counts all the same", got.longest)
	}
}

// checkIntervalLogReadsBack reads what was written with the library's own reader.
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
			merged[h.Tag()] = newHistogram()
		}
		merged[h.Tag()].Merge(h)
		intervals[h.Tag()]++
		if start := h.StartTimeMs(); start/1000 != 1795190646 {
			t.Errorf("%s begins at %d ms", h.Tag(), start)
		}
	}
	for tag, want := range map[string]Distribution{
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

func TestPercentileText(t *testing.T) {
	s := newSamples()
	s.record(uncontended, 1*ms)
	s.record(contended, 3*ms)
	s.record(refusals, time.Second)
	text, err := percentileText(&s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Value\tPercentile\tTotalCount\t1/(1-Percentile)", "Total count    =            2]", "#[Max     =        3.0"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	empty := newSamples()
	if _, err := percentileText(&empty); err != nil {
		t.Errorf("without grants: %v", err)
	}
}
