package measure

import (
	"os"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/bench"
)

// TestPing checks, for each installed store, that a ping succeeds and that the round-trip time is recorded.
func TestPing(t *testing.T) {
	for _, store := range []string{servers.Redis, servers.MySQL, servers.Postgres, servers.FerretDB, servers.ZooKeeper, servers.Etcd, servers.Kubernetes} {
		t.Run(store, func(t *testing.T) {
			if err := stores.Missing(store); err != nil {
				if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), stores.Product(store)) {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			g, err := stores.Start(t.Context(), servers.Spec{How: servers.Local, Store: store, Self: self})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Stop()
			var of bench.Trial
			if err := ping(t.Context(), g, store, &of); err != nil || of.Figures["round_trip_p50"] <= 0 {
				t.Errorf("%v, %v", err, of.Figures)
			}
		})
	}
	if _, err := openPinger("nothing", nil); err == nil {
		t.Error("an unknown store is no error")
	}
}
