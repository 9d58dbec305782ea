package reports

import (
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"lockbench/checker"
	"lockbench/histories"
)

func TestLanesOfADoubleGrant(t *testing.T) {
	got := drawLanes("w", "mutual-exclusion", doubleGrant())
	if len(got.Lanes) != 2 || got.Lanes[0].Name != "client 2" || got.Lanes[1].Name != "client 4" {
		t.Fatalf("lanes %+v, want clients 2 and 4", got.Lanes)
	}
	// 4 ms to 10.2 ms, and a fortieth of that for what has no end, from 92 to 986.
	x := func(at time.Duration) float64 { return 92 + 894*float64(at-4*ms)/float64(6355*us) }
	first, second := got.Bars[0], got.Bars[1]
	for name, pair := range map[string][2]float64{
		"first hold begins": {first.X, x(4100 * us)}, "first hold ends": {first.X + first.W, x(8900 * us)},
		"second hold begins": {second.X, x(6300 * us)}, "second hold ends": {second.X + second.W, x(10100 * us)},
		"hatch begins": {got.Hatch.X, x(6300 * us)}, "hatch ends": {got.Hatch.X + got.Hatch.W, x(8900 * us)},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.01 {
			t.Errorf("%s at %v, want %v", name, pair[0], pair[1])
		}
	}
	if got.Hatch.Label != "both inside: 2.60 ms" || first.Label != "holds 4.80 ms" {
		t.Errorf("labels %q, %q", got.Hatch.Label, first.Label)
	}
	if len(got.Leases) != 0 {
		t.Error("an unbounded promise is drawn with an end")
	}
}

// TestLanesStayInside draws what is open, endless, empty or crowded.
func TestLanesStayInside(t *testing.T) {
	crowd := doubleGrant()
	for range 12 {
		crowd.Ops = append(crowd.Ops, histories.Op{Client: 2, Kind: histories.Write, Outcome: histories.OK, Call: 7 * ms, Return: 7 * ms})
	}
	open := doubleGrant()
	open.Ops = open.Ops[:2]
	open.To = histories.Forever
	asking := &checker.Witness{From: 5 * ms, To: 5 * ms, Ops: []histories.Op{{Client: 1, Kind: histories.Acquire, Call: 5 * ms, Return: histories.StillOpen}}}
	for name, w := range map[string]*checker.Witness{
		"crowded": crowd, "open": open, "stalled": stalled(), "one call": asking, "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := drawLanes("w", "progress", w)
			inside := func(what string, x float64) {
				if math.IsNaN(x) || x < 0 || x > got.Width {
					t.Errorf("%s at %v", what, x)
				}
			}
			for _, b := range got.Bars {
				inside("a bar", b.X)
				inside("the end of a bar", b.X+b.W)
			}
			for _, m := range got.Marks {
				inside("a mark", m.X)
			}
			for i := range got.Marks[min(1, len(got.Marks)):] {
				a, b := got.Marks[i], got.Marks[i+1]
				if a.Y == b.Y && math.Abs(a.X-b.X) < markGap-0.01 {
					t.Errorf("marks %d and %d overlap", a.Number, b.Number)
				}
			}
			for _, f := range append(got.Flights, got.Leases...) {
				inside("a call", f.X1)
				inside("the end of a call", f.X2)
			}
			inside("the hatch", got.Hatch.X)
			if n := len(got.Ticks); n < 1 || n > 20 {
				t.Errorf("%d ticks", n)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	for name, at := range map[string][]vg.Length{
		"apart": {10, 50, 90}, "all alike": {50, 50, 50, 50}, "at the top": {99, 99, 100}, "at the bottom": {0, 0, 1}, "two heaps": {20, 20, 80, 80},
	} {
		t.Run(name, func(t *testing.T) {
			got := spread(at, 0, 100)
			for i := range got {
				if got[i] < 0 || got[i] > 100 || i > 0 && got[i]-got[i-1] < labelGap-0.001 {
					t.Fatalf("%v: labels overlap or leave the plot", got)
				}
			}
		})
	}
}

func TestLineStylesDiffer(t *testing.T) {
	seen := map[string]int{}
	for i := range 40 {
		s := lineStyle(i)
		r, g, b, _ := s.Color.RGBA()
		key := strings.Join([]string{string(rune(r)), string(rune(g)), string(rune(b)), dashKey(s.Dashes)}, " ")
		if j, ok := seen[key]; ok {
			t.Errorf("lines %d and %d look alike", j, i)
		}
		seen[key] = i
	}
}

func dashKey(d []vg.Length) string {
	var b strings.Builder
	for _, l := range d {
		b.WriteString(significant(float64(l)) + ",")
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		count(0): "0", count(999): "999", count(1000): "1,000", count(-1234567): "-1,234,567",
		significant(0.1234): "0.123", significant(12.34): "12.3", significant(1234.5): "1,230", significant(9.999): "10.0",
		duration(999): "999 ns", duration(1500): "1.50 µs", duration(250e6): "250 ms", duration(90e9): "90.0 s",
		milliseconds(1_234_567): "1.23", milliseconds(1700): "0.0017", milliseconds(0): "0",
		rankName(0.999): "99.9 %", rankName(0.5): "50 %", rankName(0.9999): "99.99 %",
		plural(1, "expiry"): "1 expiry", plural(2, "expiry"): "2 expiries", plural(2, "hand-off"): "2 hand-offs",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestChartLeavesOutWhatIsNoLock(t *testing.T) {
	of := func(lock, standing string, n int64) Measurement {
		d := Distribution{N: n}
		if n >= 100 {
			d.Percentiles = []Percentile{{0.5, 1e6 * n}, {0.9, 2e6 * n}}
			d.Curve = []Percentile{{0.5, 1e6 * n}, {0.8, 1.5e6 * n}, {0.9, 2e6 * n}}
		}
		return Measurement{Lock: lock, Standing: standing, Contended: d}
	}
	label := labels(nil)
	got, err := chartOf("c", "counter", []Measurement{of("floor", notALock, 500), of("slow", "", 400), of("quick", "", 200), of("rare", "", 7)}, label)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Not drawn: floor (not a lock) and rare (7 grants: too few)."; got.Note != want {
		t.Errorf("note %q, want %q", got.Note, want)
	}
	if want := "90 % of the contended grants came within 400 ms with quick, the quickest here, and within 800 ms with slow, the slowest: 2.00 times as long. With fewer than 4 trials each, the order may be chance."; got.Takeaway != want {
		t.Errorf("takeaway %q, want %q", got.Takeaway, want)
	}
	if svg := string(got.SVG); strings.Contains(svg, ">floor") || !strings.Contains(svg, ">quick</text>") {
		t.Error("the drawing has what it should leave out, or lacks what it should have")
	}
	if len(got.Rows) != 2 || strings.Join(got.Ranks, ", ") != "50 %, 90 %" || got.Rows[1].Values[1] != "400" {
		t.Errorf("table %v %+v", got.Ranks, got.Rows)
	}
	if none, err := chartOf("c", "counter", []Measurement{of("rare", "", 7)}, label); err != nil || none.SVG != "" || none.Note == "" {
		t.Errorf("a chart of nothing: %+v, %v", none, err)
	}
}
