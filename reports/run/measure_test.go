package run

import (
	"math"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/reports/figures"
	"lockbench/reports/format"
)

func statsOf(t *testing.T, h histories.Header, ops []histories.Op) *figures.Stats {
	t.Helper()
	stats, err := figures.Of(&h, histories.Ops(ops), figures.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// nearly reports whether two values differ by at most 0.1 %. Histograms have this precision.
func nearly(got, want float64) bool { return math.Abs(got-want) <= 0.001*math.Abs(want) }

func TestMeasureMergesTrials(t *testing.T) {
	trial := func(dir string, hold time.Duration) *trialRead {
		ops := []histories.Op{
			{Hold: 1, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Return: 1 * ms},
			{Hold: 1, Kind: histories.Release, Outcome: histories.OK, Key: "k", Call: 1*ms + hold, Return: 2*ms + hold},
		}
		h := histories.Header{Clients: 1}
		return &trialRead{Trial: Trial{Dir: dir}, header: h, stats: statsOf(t, h, ops)}
	}
	m := measure(Cell{Lock: "l", Workload: "w"}, []*trialRead{trial("1", 8*ms), trial("2", 18*ms), trial("3", 98*ms)})
	if want := (Range{Median: 50, Low: 10, High: 100}); !nearly(m.Goodput.Median, want.Median) || !nearly(m.Goodput.Low, want.Low) || !nearly(m.Goodput.High, want.High) {
		t.Errorf("goodput %+v, want %+v", m.Goodput, want)
	}
	if want := 1 / 0.018; !nearly(m.Ceiling, want) { // 18 ms is the median of the three hold times
		t.Errorf("ceiling %v, want %v", m.Ceiling, want)
	}
	if m.Hold.N != 3 || m.Sections != 3 || m.Fault != "none" {
		t.Errorf("%d holds, %d sections, fault %q", m.Hold.N, m.Sections, m.Fault)
	}
	if got := figuresIn(m).CeilingCell.Text; got != "90 %" { // the ceiling is 1 / 0.018 s, and the goodput of 50/s is 90 % of it
		t.Errorf("%s of the ceiling, want 90 %%", got)
	}
}

func TestNoCeilingOverSeveralKeys(t *testing.T) {
	var ops []histories.Op
	for i, key := range []string{"a", "b"} {
		at, hold := time.Duration(i)*10*ms, int64(i+1)
		ops = append(ops,
			histories.Op{Hold: hold, Kind: histories.Acquire, Outcome: histories.OK, Key: key, Call: at + 1*ms, Return: at + 2*ms},
			histories.Op{Hold: hold, Kind: histories.Release, Outcome: histories.OK, Key: key, Call: at + 3*ms, Return: at + 4*ms})
	}
	h := histories.Header{Clients: 1}
	m := measure(Cell{}, []*trialRead{{header: h, stats: statsOf(t, h, ops)}})
	if m.Ceiling != 0 || m.Keys != 2 {
		t.Errorf("ceiling %v over %d keys; want none over 2", m.Ceiling, m.Keys)
	}
}

// TestNoNumberIsNoFigure checks that NaN is shown as a missing value, never as 0.
func TestNoNumberIsNoFigure(t *testing.T) {
	f := figuresIn(Measurement{Goodput: Range{Median: math.NaN()}, Ceiling: 1, Sections: 1, Jain: Range{Median: math.NaN()}})
	for name, c := range map[string]cell{"goodput": f.GoodputCell, "of the ceiling": f.CeilingCell, "Jain": f.JainCell} {
		if c.Text != format.None {
			t.Errorf("%s is %q", name, c.Text)
		}
	}
}
