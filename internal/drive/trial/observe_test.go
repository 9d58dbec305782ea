package trial

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/broken"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// TestObservedTrial runs a correct and a known-broken lock with long holds, on the emulator and on real servers. The
// correct lock must satisfy the property backed-promise. The known-broken lock must violate it.
func TestObservedTrial(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Run: "test", Params: workloads.Defaults(), Self: own}
	s.Params.Duration, s.Params.TTL, s.Params.Hold, s.Params.Clients = time.Second, 4*time.Second, 300*time.Millisecond, 2
	for _, how := range []string{servers.Embedded, servers.Local} {
		for name, want := range map[string]checker.Observed{"set-px-lua": checker.Held, "redisson": checker.Held, "redlock": checker.Held,
			"etcd": checker.Held, "fenced": checker.Held, "broken-short-lease": checker.Violated} {
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				locks := slices.Concat(catalog.All(), broken.All())
				lock := locks[slices.IndexFunc(locks, func(l impls.Impl) bool { return l.Name == name })]
				if how == servers.Local && stores.Missing(lock.Store) != nil || how == servers.Embedded && name == "etcd" {
					t.Skip("the store is not installed")
				}
				s := s
				s.Servers = how
				found := s.backed(t, Cell{Lock: lock, Workload: contend(), Fault: faults.None()})
				if found.Observed != want {
					t.Errorf("%s: %s (%s), want %s; %+v", found.Observed, found.Why, found.Evidence, want, found.Witness)
				}
			})
		}
	}
}

// backed runs a trial and returns the finding about the property backed-promise.
func (s Setting) backed(t *testing.T, c Cell) checker.Finding {
	var granted atomic.Int64
	out, err := s.Try(t.Context(), c, t.TempDir(), 0, &granted)
	if err != nil && strings.Contains(out.Discarded, "was paused") {
		t.Skip("this machine is too busy: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return out.Verdict.Finding("backed-promise")
}

// TestObservationsAreNotCounted checks that the observation of a trial does not increase the server's counters.
func TestObservationsAreNotCounted(t *testing.T) {
	if err := stores.Missing(servers.Redis); err != nil {
		t.Skip(err)
	}
	g, err := stores.Start(t.Context(), servers.Spec{How: servers.Local, Store: servers.Redis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Stop() })
	p := workloads.Defaults()
	rec, memory := histories.NewMemory(histories.Header{}, p.Logs())
	register := workloads.All()[0].Register()
	observed := lockNamed(t, "set-px-lua")
	tr := newTrial(Setting{Params: p}, Cell{Lock: observed, Workload: contend(), Fault: faults.None()}, t.TempDir(), nil)
	tr.group = g
	lock, err := tr.open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	tr.fresh = workloads.Process{Lock: lock, Resource: register}
	tr.seen = tr.observe(rec)
	c, err := tr.counting(t.Context(), g, func() { time.Sleep(200 * time.Millisecond) })
	tr.seen.Stop()
	if err != nil || rec.Close() != nil {
		t.Fatal(err)
	}
	if sent := tr.seen.Counters()["calls.scan"]; sent < 2 || len(memory.Lines) < 2 {
		t.Fatalf("%v searches, %d lines: nothing was observed", sent, len(memory.Lines))
	}
	if n := c.After["calls.scan"] - c.Before["calls.scan"]; n < 0 || n > 1 { // one search may have been in progress
		t.Errorf("%v searches were counted", n)
	}
}
