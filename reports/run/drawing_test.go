package run

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/figures"
	"lockbench/reports/format"
)

func TestLanesOfADoubleGrant(t *testing.T) {
	got := drawLanes("w", "mutual-exclusion", doubleGrant(), nil)
	if len(got.Lanes) != 2 || got.Lanes[0].Name != "client 2" || got.Lanes[1].Name != "client 4" {
		t.Fatalf("lanes %+v, want clients 2 and 4", got.Lanes)
	}
	// 4 ms to 10.2 ms, and a fortieth of that for what has no end, from 92 to 986.
	x := func(at time.Duration) float64 { return 92 + 894*float64(at-4*ms)/float64(6355*us) }
	first, second := got.Bars[0], got.Bars[1]
	for name, pair := range map[string][2]float64{
		"first hold begins": {first.X, x(4100 * us)}, "first hold ends": {first.X + first.W, x(8900 * us)},
		"second hold begins": {second.X, x(6300 * us)}, "second hold ends": {second.X + second.W, x(10100 * us)},
		"hatch begins": {got.Hatches[0].X, x(6300 * us)}, "hatch ends": {got.Hatches[0].X + got.Hatches[0].W, x(8900 * us)},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.01 {
			t.Errorf("%s at %v, want %v", name, pair[0], pair[1])
		}
	}
	if got.Hatches[0].Label != "both inside: 2.60 ms" || first.Label != "holds 4.80 ms" {
		t.Errorf("labels %q, %q", got.Hatches[0].Label, first.Label)
	}
	if len(got.Leases) != 0 {
		t.Error("an unbounded promise is drawn with an end")
	}
}

// TestBands: faults are drawn where they were and when, named, and within the drawing.
func TestBands(t *testing.T) {
	w := stalled()
	got := drawLanes("w", "mutual-exclusion", w, []checker.Band{
		{Name: "before", Client: 0, From: 0, To: 50 * ms, Effective: true},
		{Name: "long", Client: 0, From: 0, To: histories.StillOpen, Effective: true},
		{Name: "holder-stall", Client: 0, From: 120 * ms, To: 720 * ms, Effective: true},
		{Name: "of-no-lane", Client: 9, From: 120 * ms, To: 720 * ms, Effective: true},
		{Name: "slow-network", Client: histories.Harness, From: 720 * ms, To: 721 * ms},
		{Name: "after", Client: histories.Harness, From: 900 * ms, To: histories.StillOpen, Effective: true},
	})
	var names []string
	for _, b := range got.Bands {
		name, _, _ := strings.Cut(b.Title, ", from")
		names = append(names, name)
		if b.X < got.Left || b.X+b.W > got.Right+2 || b.Y < got.Top || b.Y+b.H > got.Bottom || b.W < 2 {
			t.Errorf("%s lies outside: %+v", b.Title, b)
		}
		if b.Label != "" && (b.LabelX < got.Left || b.LabelX+float64(len(b.Label))*bandGlyph > got.Right+1) {
			t.Errorf("the name of %s lies outside: %+v", b.Title, b)
		}
	}
	want := []string{"long", "holder-stall", "slow-network, not seen to take effect"}
	if !slices.Equal(names, want) {
		t.Fatalf("drawn: %q, want %q", names, want)
	}
	lane, all := got.Bands[1], got.Bands[2]
	if lane.H >= laneHeight || lane.Y < got.Lanes[0].Y || all.H != got.Bottom-got.Top || lane.Label != "holder-stall" || all.Label == "" {
		t.Errorf("%+v, %+v", lane, all)
	}
	for _, f := range within([]checker.Band{{From: 0, To: 50 * ms}, {From: 900 * ms, To: histories.StillOpen}}, w) {
		t.Errorf("%+v is not within the time of the witness", f)
	}
}

// TestLanesOfOneWhoIsGone: a hold ends with its client.
func TestLanesOfOneWhoIsGone(t *testing.T) {
	w := &checker.Witness{From: 2 * ms, To: 9 * ms, Ops: []histories.Op{
		{Kind: histories.Acquire, Outcome: histories.OK, Call: ms, Return: 2 * ms},
		{Kind: histories.Inject, Outcome: histories.OK, Fault: "holder-kill", Value: histories.Gone, Call: 5 * ms, Return: 6 * ms},
	}}
	if got := drawLanes("w", "recovery", w, nil); got.Bars[0].Label != "holds 3.00 ms" {
		t.Errorf("%+v", got.Bars[0])
	}
}

// TestRecoveryStaysInside draws recoveries that are many times the bound.
func TestRecoveryStaysInside(t *testing.T) {
	var row recoveryRow
	row.draw(&Recovery{N: 4, TTLNS: 1e9, BoundNS: 15e8, Multiples: []float64{0, 1.01, 1.02, 500}})
	total := ""
	for _, b := range row.Bars {
		if b.X < 0 || b.X+b.W > row.Width || b.Y < 0 || b.Y+b.H > row.Height {
			t.Errorf("%+v lies outside", b)
		}
		total += b.Title + "; "
	}
	if len(row.Bars) != 3 || !strings.Contains(total, "1.00 to 1.25 x TTL: 2") || row.BoundX > row.Width || len(row.Ticks) < 3 {
		t.Errorf("%s %+v", total, row)
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
			got := drawLanes("w", "progress", w, nil)
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
			inside("the hatch", got.Hatches[0].X)
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
		format.Count(0): "0", format.Count(999): "999", format.Count(1000): "1,000", format.Count(-1234567): "-1,234,567",
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
		d := figures.Distribution{N: n}
		if n >= 100 {
			d.Percentiles = []figures.Percentile{{Rank: 0.5, NS: 1e6 * n}, {Rank: 0.9, NS: 2e6 * n}}
			d.Curve = []figures.Percentile{{Rank: 0.5, NS: 1e6 * n}, {Rank: 0.8, NS: 1.5e6 * n}, {Rank: 0.9, NS: 2e6 * n}}
		}
		return Measurement{Lock: lock, Standing: standing, Contended: d}
	}
	label := new(Manifest).labels()
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
