package figures

import (
	"strings"
	"testing"
	"time"

	"lockbench/histories"
)

func TestPercentilesNeedSamples(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		want  int // number of percentiles in the distribution
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
			h := NewHistogram()
			for i := range c.n {
				h.RecordValue(int64(i + 1))
			}
			d := DistributionOf(h)
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
	if got.OutOfRange != 1 {
		t.Errorf("%d out of range, want 1", got.OutOfRange)
	}
	if got.Longest.NS != int64(2*time.Hour) {
		t.Errorf("the longest wait is %v: it counts although no histogram has it", got.Longest)
	}
}

func TestPercentileText(t *testing.T) {
	s := NewSamples()
	s.Record(Uncontended, 1*ms)
	s.Record(Contended, 3*ms)
	s.Record(Refusals, time.Second)
	text, err := PercentileText(&s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Value\tPercentile\tTotalCount\t1/(1-Percentile)", "Total count    =            2]", "#[Max     =        3.0"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	empty := NewSamples()
	if _, err := PercentileText(&empty); err != nil {
		t.Errorf("without grants: %v", err)
	}
}

func TestCurveRanks(t *testing.T) {
	for n, want := range map[int64]float64{19: 0, 20: 0.5, 100: 0.9, 1000: 0.99, 10_000: 0.999} {
		last := 0.0
		if all := curveRanks(n); len(all) > 0 {
			last = all[len(all)-1]
		}
		if last != want {
			t.Errorf("of %d samples the last rank is %v, want %v, with ten samples beyond", n, last, want)
		}
	}
}
