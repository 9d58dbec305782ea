package run

import (
	"testing"

	"lockbench/reports/figures"
)

// measured returns an example measurement of a lock under the workload "counter".
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
	return r
}

// TestStores checks that each lock is listed under its store. Stores without locks must be omitted.
func TestStores(t *testing.T) {
	r := twoStores()
	r.Run.Environment.Saw(StoreDoc{"etcd", "etcd 3 (local)", "on disk"})
	rows := r.stores()
	if len(rows) != 2 || len(rows[0].Locks) != 4 || rows[1].Locks[0].Standing != heldAtOnce {
		t.Errorf("%+v", rows)
	}
	if got := r.Run.Environment.Server; got != "redis 7 (local), mariadb 10 (local), etcd 3 (local)" {
		t.Errorf("servers: %s", got)
	}
}

// TestOneStoreIsNoComparison checks that a run with a single store has no comparison of stores.
func TestOneStoreIsNoComparison(t *testing.T) {
	r := twoStores()
	r.Run.Environment.Stores = r.Run.Environment.Stores[:1]
	if rows := r.stores(); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
}
