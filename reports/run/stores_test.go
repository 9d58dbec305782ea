package run

import (
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/reports/figures"
)

// measured is a lock on a store, in the workload counter.
func measured(store, lock string, goodput float64, standing string) Measurement {
	return Measurement{Store: store, Lock: lock, Workload: "counter", Fault: "none", Standing: standing, Ceiling: 1,
		Goodput: Range{Median: goodput}, Contended: figures.Distribution{N: 1}, Trials: []TrialFigures{{}}}
}

func twoStores() *Results {
	r := &Results{Measurements: []Measurement{
		measured("redis", "wrong", 900, notALock), measured("redis", "slow", 100, ""), measured("redis", "quick", 200, ""),
		measured("mysql", "wrong-too", 400, heldAtOnce),
	}}
	r.Run.Environment.Saw(StoreDoc{"redis", "redis 7 (local)", "in memory"})
	r.Run.Environment.Saw(StoreDoc{"mysql", "mariadb 10 (local)", "on disk"})
	r.Run.Environment.Saw(StoreDoc{"redis", "redis 8 (local)", "seen already"})
	r.Measurements = append(r.Measurements, measured("redis", "known-bad", 300, ""))
	r.Run.Locks = []LockDoc{{Name: "known-bad", Control: true}}
	r.Cells = []Observation{
		{Lock: "quick", Result: checker.Pass}, {Lock: "wrong", Result: checker.XFail}, {Lock: "slow", Result: checker.Pass},
		{Lock: "wrong-too", Result: checker.Fail},
	}
	return r
}

// TestStores: the figures of a store are those of its locks that exclude and are not known to be broken.
func TestStores(t *testing.T) {
	r := twoStores()
	rows := r.stores()
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	if rows[0].Goodput != "100 to 200 (2 locks)" || rows[1].Goodput != "–" {
		t.Errorf("goodput %q and %q", rows[0].Goodput, rows[1].Goodput)
	}
	if got := rows[0].Counted(); got != "✓ 2 pass, ◉ 1 xfail" {
		t.Errorf("verdicts of redis: %s", got)
	}
	if got := r.Run.Environment.Server; got != "redis 7 (local), mariadb 10 (local)" {
		t.Errorf("servers: %s", got)
	}
	var b strings.Builder
	if err := r.Text(&b, false, true); err != nil || !strings.Contains(b.String(), "mariadb 10 (local)  ✗ 1 FAIL") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// TestOneStoreIsNoComparison: beside itself there is nothing to show.
func TestOneStoreIsNoComparison(t *testing.T) {
	r := twoStores()
	r.Run.Environment.Stores = r.Run.Environment.Stores[:1]
	if rows := r.stores(); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
}
