package run

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/charts"
	"lockbench/reports/figures"
)

func TestLanesOfADoubleGrant(t *testing.T) {
	got := exampleLanes("mutual-exclusion", doubleGrant(), nil)
	if !slices.Equal(got.Names, []string{"client 2", "client 4"}) {
		t.Fatalf("lanes %q, want clients 2 and 4", got.Names)
	}
	// The drawing spans 4 ms to 10.2 ms, with a margin of one fortieth of this time at the end. The margin makes calls
	// without a return visible.
	for name, pair := range map[string][2]time.Duration{
		"the drawing begins": {got.From, 4 * ms}, "the drawing ends": {got.To, 10355 * us},
		"first hold begins": {got.Holds[0].From, 4100 * us}, "first hold ends": {got.Holds[0].To, 8900 * us},
		"second hold begins": {got.Holds[1].From, 6300 * us}, "second hold ends": {got.Holds[1].To, 10100 * us},
		"hatch begins": {got.Violations[0].From, 6300 * us}, "hatch ends": {got.Violations[0].To, 8900 * us},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s at %v, want %v", name, pair[0], pair[1])
		}
	}
	if got.Violations[0].Label != "two clients held at once for 2.60 ms" || got.Holds[0].Label != "holds 4.80 ms" {
		t.Errorf("labels %q, %q", got.Violations[0].Label, got.Holds[0].Label)
	}
	if len(got.Leases) != 0 {
		t.Error("an unbounded lease is drawn with an end")
	}
}

// TestBands checks that faults are drawn with names, in their clients' rows, at their times, and within the drawing.
func TestBands(t *testing.T) {
	w := stalled()
	got := exampleLanes("mutual-exclusion", w, []checker.Band{
		{Name: "before", Client: 0, From: 0, To: 50 * ms, Effective: true},
		{Name: "long", Client: 0, From: 0, To: histories.StillOpen, Effective: true},
		{Name: "holder-stall", Client: 0, From: 120 * ms, To: 720 * ms, Effective: true},
		{Name: "of-no-lane", Client: 9, From: 120 * ms, To: 720 * ms, Effective: true},
		{Name: "slow-network", Client: histories.Harness, From: 720 * ms, To: 721 * ms},
		{Name: "after", Client: histories.Harness, From: 900 * ms, To: histories.StillOpen, Effective: true},
	})
	var names []string
	for _, f := range got.Faults {
		name, _, _ := strings.Cut(f.Title, ", from")
		names = append(names, name)
	}
	want := []string{"long", "holder-stall", "slow-network, not verified"}
	if !slices.Equal(names, want) {
		t.Fatalf("drawn: %q, want %q", names, want)
	}
	long, lane, all := got.Faults[0], got.Faults[1], got.Faults[2]
	if long.To != got.To || lane.Lane != 0 || lane.Label != "holder-stall" || lane.Faint || all.Lane != charts.AllLanes || !all.Faint {
		t.Errorf("%+v, %+v, %+v", long, lane, all)
	}
}

// TestLanesOfAKilledClient checks that, in a timeline, a client's hold ends when the client is killed.
func TestLanesOfAKilledClient(t *testing.T) {
	w := &checker.Witness{From: 2 * ms, To: 9 * ms, Ops: []histories.Op{
		{Kind: histories.Acquire, Outcome: histories.OK, Call: ms, Return: 2 * ms},
		{Kind: histories.Inject, Outcome: histories.OK, Fault: "holder-kill", Value: histories.Gone, Call: 5 * ms, Return: 6 * ms},
	}}
	if got := exampleLanes("recovery", w, nil); got.Holds[0].Label != "holds 3.00 ms" {
		t.Errorf("%+v", got.Holds[0])
	}
}

// TestHistogramOfRecoveries checks that the last bar includes recovery times far above the bound.
func TestHistogramOfRecoveries(t *testing.T) {
	h := (&Recovery{N: 4, TTLNS: 1e9, BoundNS: 15e8, Multiples: []float64{0, 1.01, 1.02, 500}}).histogram()
	if len(h.Counts) != mostBins || h.Counts[0] != 1 || h.Counts[4] != 2 || h.Counts[mostBins-1] != 1 || h.Title(4) != "1.00 to 1.25 x TTL: 2" || h.Bound != 1.5 {
		t.Errorf("%+v, %s", h, h.Title(4))
	}
}

// TestLanesStayInside checks that timelines with unfinished, empty or crowded time spans stay within the drawing.
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
			svg := string(drawExample("w", "progress", w, nil))
			var wide float64
			if _, err := fmt.Sscanf(svg[strings.Index(svg, "viewBox="):], `viewBox="0 0 %f`, &wide); err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(` (?:x="|d="M)(-?[\d.]+|NaN)`).FindAllStringSubmatch(svg, -1) {
				if x, err := strconv.ParseFloat(m[1], 64); err != nil || !(x >= 0 && x <= wide) {
					t.Errorf("something is drawn at %s of %v", m[1], wide)
				}
			}
			if !strings.Contains(svg, `class="hatched"`) || !strings.Contains(svg, `class="axis"`) {
				t.Error("there is no violation, or no axis")
			}
		})
	}
}

func TestChartOmitsLocksThatDoNotExclude(t *testing.T) {
	of := func(lock, standing string, n int64) Measurement {
		d := figures.Distribution{N: n}
		if n >= 100 {
			d.Percentiles = []figures.Percentile{{Rank: 0.5, NS: 1e6 * n}, {Rank: 0.9, NS: 2e6 * n}}
			d.Curve = []figures.Percentile{{Rank: 0.5, NS: 1e6 * n}, {Rank: 0.8, NS: 1.5e6 * n}, {Rank: 0.9, NS: 2e6 * n}}
		}
		return Measurement{Lock: lock, Standing: standing, Contended: d}
	}
	label := new(Manifest).labels()
	got := latencyChart("c", "counter", []Measurement{of("floor", notALock, 500), of("slow", "", 400), of("quick", "", 200), of("rare", "", 7)}, label)
	if want := " Not drawn: floor (two clients held it at once) and rare (7 grants: too few)."; !strings.HasSuffix(got.Note, want) {
		t.Errorf("note %q, want %q", got.Note, want)
	}
	if want := "90 % of the contended grants took at most 400 ms with quick, the fastest here, and at most 800 ms with slow, the slowest: 2.00 times as long. With fewer than 4 trials each, the order may be chance."; got.Takeaway != want {
		t.Errorf("takeaway %q, want %q", got.Takeaway, want)
	}
	if svg := string(got.SVG); strings.Contains(svg, ">floor") || !strings.Contains(svg, ">quick</text>") {
		t.Error("the drawing has what it should leave out, or lacks what it should have")
	}
	if len(got.Rows) != 2 || strings.Join(got.Head, ", ") != "lock, 50 %, ms, 90 %, ms" || got.Rows[1][2] != "400" {
		t.Errorf("table %v %+v", got.Head, got.Rows)
	}
	if empty := latencyChart("c", "counter", []Measurement{of("rare", "", 7)}, label); empty.SVG != "" || empty.Note == "" {
		t.Errorf("a chart of nothing: %+v", empty)
	}
}
