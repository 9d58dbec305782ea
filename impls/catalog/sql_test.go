package catalog_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// eachOnDatabase runs a test on the given locks, on one server of each installed store. The tests share the servers, and
// must not inject faults into them.
func eachOnDatabase(t *testing.T, names []string, test func(bench, servers.Node)) {
	for _, store := range []struct{ name, required string }{{servers.MySQL, "mariadb"}, {servers.Postgres, "postgres"}} {
		locks := slices.DeleteFunc(catalog.All(), func(i impls.Impl) bool { return i.Store != store.name || !slices.Contains(names, i.Name) })
		if len(locks) == 0 {
			continue
		}
		t.Run(store.required, func(t *testing.T) {
			notBriefly(t, store.name)
			if err := stores.Missing(store.name); err != nil {
				if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), store.required) {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			g := shared(t, servers.Spec{How: servers.Local, Store: store.name})
			for _, impl := range locks {
				t.Run(impl.Name, func(t *testing.T) { test(bench{t, impl, g.Front()}, g.Nodes[0]) })
			}
		})
	}
}

// properOnDatabases returns the locks on databases, except negative controls.
func properOnDatabases() []string {
	return []string{"mysql-row", "mysql-row-ttl", "mysql-getlock", "postgres-advisory"}
}

func TestDatabaseTryWaitAndCancel(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, properOnDatabases(), func(b bench, _ servers.Node) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 10*time.Second, 0)
		if h.Key != "k" || h.Token == "" || h.Validity == 0 {
			b.t.Errorf("granted %+v", h.Grant)
		}
		if _, err := second.Acquire(b.t.Context(), request("try", 0)); !errors.Is(err, impls.ErrBusy) {
			b.t.Errorf("try: %v, want busy", err)
		}
		start := time.Now()
		if _, err := second.Acquire(b.t.Context(), request("wait", 300*time.Millisecond)); err == nil {
			b.t.Error("granted twice")
		} else if waited := time.Since(start); waited < 290*time.Millisecond {
			b.t.Errorf("with a wait of 300ms it returned after %v: %v", waited, err)
		}
		cancelled, stop := context.WithTimeout(b.t.Context(), 100*time.Millisecond)
		defer stop()
		if _, err := second.Acquire(cancelled, request("cancel", -1)); err == nil {
			b.t.Error("granted twice")
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			next := b.acquire(second, "b", 10*time.Second, -1)
			if err := second.Release(b.t.Context(), next.Grant); err != nil {
				b.t.Error(err)
			}
		})
		time.Sleep(250 * time.Millisecond) // longer than one wait at the server, so the lock has to wait there again
		if err := first.Release(b.t.Context(), h.Grant); err != nil {
			b.t.Error(err)
		}
		wg.Wait()
	})
}

// TestDatabaseRelease checks that only the holder's release frees the lock, and only once.
func TestDatabaseRelease(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, properOnDatabases(), func(b bench, _ servers.Node) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 10*time.Second, 0)
		stale := h.Grant
		stale.Owner, stale.Token = "late", "another's"
		for _, l := range []impls.Lock{first, second} {
			if err := l.Release(b.t.Context(), stale); !errors.Is(err, impls.ErrNotHeld) {
				b.t.Errorf("release of another client's hold: %v, want not held", err)
			}
		}
		if _, err := second.Acquire(b.t.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			b.t.Errorf("after that: %v, want busy", err)
		}
		if err := first.Release(b.t.Context(), h.Grant); err != nil {
			b.t.Error(err)
		}
		next := b.acquire(first, "c", 10*time.Second, 0) // uses the same session again, if the lock uses sessions
		if err := first.Release(b.t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("a second release: %v, want not held", err)
		}
		if _, err := second.Acquire(b.t.Context(), request("d", 0)); !errors.Is(err, impls.ErrBusy) {
			b.t.Errorf("while the next holds: %v, want busy", err)
		}
		if err := first.Release(b.t.Context(), next.Grant); err != nil {
			b.t.Error(err)
		}
	})
}

// TestDatabaseOpensConcurrently checks that several processes can open a lock at the same time. Each process tries to
// create the table.
func TestDatabaseOpensConcurrently(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, properOnDatabases(), func(b bench, _ servers.Node) {
		var all sync.WaitGroup
		for process := range 8 {
			all.Go(func() {
				l, err := b.impl.Open(impls.Env{Nodes: b.nodes, Prefix: b.t.Name(), Process: process, Rand: impls.NewRand(1, uint64(process))})
				if err == nil {
					err = l.Close()
				}
				if err != nil {
					b.t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// TestRowTakenOver checks that an expired row is granted to exactly one client.
func TestRowTakenOver(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, []string{"mysql-row-ttl"}, func(b bench, _ servers.Node) {
		first, second := b.open(0, nil), b.open(1, nil)
		late := b.acquire(first, "a", 300*time.Millisecond, 0)
		renewed, err := first.(impls.Renewer).Renew(b.t.Context(), late.Grant)
		if err != nil || renewed.Validity != 300*time.Millisecond {
			b.t.Errorf("renewed %+v, %v", renewed, err)
		}
		time.Sleep(350 * time.Millisecond)
		var all sync.WaitGroup
		granted := make(chan impls.Hold, 8)
		for i := range 8 {
			l := []impls.Lock{first, second}[i%2]
			all.Go(func() {
				if h, err := l.Acquire(b.t.Context(), request("b", 0)); err == nil {
					granted <- h
				} else if !errors.Is(err, impls.ErrBusy) {
					b.t.Error(err)
				}
			})
		}
		all.Wait()
		if len(granted) != 1 {
			b.t.Fatalf("granted %d times", len(granted))
		}
		h := <-granted
		if err := first.Release(b.t.Context(), late.Grant); !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("a late release: %v, want not held", err)
		}
		if _, err := first.(impls.Renewer).Renew(b.t.Context(), late.Grant); !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("a late renewal: %v, want not held", err)
		}
		if token, left, err := first.(impls.Prober).Probe(b.t.Context(), "k"); err != nil || token != h.Token || left <= 0 || left > 10*time.Second {
			b.t.Errorf("the store says %q, %v, %v", token, left, err)
		}
	})
}

// TestRowStays checks a known defect: the row of a dead holder is never deleted.
func TestRowStays(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, []string{"mysql-row"}, func(b bench, _ servers.Node) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 50*time.Millisecond, 0)
		if err := first.Close(); err != nil {
			b.t.Error(err)
		}
		time.Sleep(100 * time.Millisecond)
		if token, left, err := second.(impls.Prober).Probe(b.t.Context(), "k"); err != nil || token != h.Token || left != impls.Unbounded {
			b.t.Errorf("the store says %q, %v, %v", token, left, err)
		}
	})
}

// TestSessionEnds checks the end of a holder's session. The next client must be granted the key, the loss must be
// reported, and the release must return an error.
func TestSessionEnds(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, []string{"mysql-getlock", "postgres-advisory"}, func(b bench, n servers.Node) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 600*time.Millisecond, 0)
		if err := n.EndSession(b.t.Context(), b.key(), servers.Holder); err != nil {
			b.t.Fatal(err)
		}
		next := b.acquire(second, "b", 10*time.Second, -1)
		select {
		case <-h.Lost:
		case <-time.After(20 * time.Second):
			b.t.Fatal("the loss was not reported")
		}
		if err := first.Release(b.t.Context(), h.Grant); err == nil {
			b.t.Error("the release of a lost hold succeeded")
		}
		if err := second.Release(b.t.Context(), next.Grant); err != nil {
			b.t.Error(err)
		}
		select {
		case <-next.Lost:
			b.t.Error("a released hold was reported lost")
		default:
		}
	})
}

// TestSessionEndsWithItsProcess checks that Close frees the lock and leaves no goroutine.
func TestSessionEndsWithItsProcess(t *testing.T) {
	eachOnDatabase(t, []string{"mysql-getlock", "postgres-advisory"}, func(b bench, _ servers.Node) {
		before := runtime.NumGoroutine()
		first, second := b.open(0, nil), b.open(1, nil)
		b.acquire(first, "a", 10*time.Second, 0)
		if err := first.Close(); err != nil {
			b.t.Error(err)
		}
		h := b.acquire(second, "b", 10*time.Second, -1)
		waiting, cancel := context.WithCancel(b.t.Context())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := second.Acquire(waiting, request("c", -1)); !errors.Is(err, impls.ErrBusy) && !errors.Is(err, context.Canceled) {
					b.t.Errorf("a cancelled waiter: %v", err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
		all.Wait()
		if err := errors.Join(second.Release(b.t.Context(), h.Grant), second.Close()); err != nil {
			b.t.Error(err)
		}
		waitUntil(b.t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	})
}

// TestClosedWhileItWaits closes the lock of a client that waits in Acquire. The acquire must fail, and must not block other
// clients.
func TestClosedWhileItWaits(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, []string{"mysql-getlock", "postgres-advisory"}, func(b bench, _ servers.Node) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 10*time.Second, 0)
		waited := make(chan error, 1)
		go func() {
			_, err := second.Acquire(b.t.Context(), request("b", -1))
			waited <- err
		}()
		time.Sleep(100 * time.Millisecond) // gives the client time to start waiting
		if err := second.Close(); err != nil {
			b.t.Error(err)
		}
		if err := first.Release(b.t.Context(), h.Grant); err != nil {
			b.t.Error(err)
		}
		select {
		case err := <-waited:
			if err == nil {
				b.t.Error("it was granted after Close")
			}
		case <-time.After(20 * time.Second):
			b.t.Fatal("it waits on")
		}
		h = b.acquire(first, "c", 10*time.Second, 5*time.Second)
		if err := first.Release(b.t.Context(), h.Grant); err != nil {
			b.t.Error(err)
		}
	})
}

// TestRowNamesAreWhole checks that names that are too long are refused. A server in a non-strict mode would truncate such
// names, so two keys could share a row.
func TestRowNamesAreWhole(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, []string{"mysql-row", "mysql-row-ttl"}, func(b bench, _ servers.Node) {
		req := request("a", 0)
		req.Key = strings.Repeat("k", 256)
		if _, err := b.open(0, nil).Acquire(b.t.Context(), req); err == nil || !strings.Contains(err.Error(), "want at most 255") {
			b.t.Errorf("a name that is too long: %v", err)
		}
	})
}

// TestUnlockThroughAPool checks a known defect: a release succeeds but does not free the lock.
func TestUnlockThroughAPool(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachOnDatabase(t, []string{"postgres-advisory-pool"}, func(b bench, _ servers.Node) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 10*time.Second, 0)
		if err := first.Release(b.t.Context(), h.Grant); err != nil {
			b.t.Error(err)
		}
		if _, err := second.Acquire(b.t.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			b.t.Errorf("another client, after the release: %v, want busy (the defect)", err)
		}
	})
}

// TestDatabaseErrorsKeepSecrets checks that errors about a missing server or an invalid URL do not contain the password.
func TestDatabaseErrorsKeepSecrets(t *testing.T) {
	for _, impl := range catalog.All() {
		if impl.Store != servers.MySQL && impl.Store != servers.Postgres {
			continue
		}
		scheme := map[string]string{servers.MySQL: "mysql", servers.Postgres: "postgres"}[impl.Store]
		for _, url := range []string{"://u:s3same@127.0.0.1:1/d", "://u:s3same@127.0.0.1/d", "://u:%zzs3same@127.0.0.1:1/d"} {
			l, err := impl.Open(impls.Env{Nodes: []string{scheme + url}, Rand: impls.NewRand(1, 1)})
			if err == nil {
				_, err = l.Acquire(t.Context(), request("a", 0))
				l.Close()
			}
			if err == nil || strings.Contains(err.Error(), "s3same") {
				t.Errorf("%s: %v", impl.Name, err)
			}
		}
	}
}
