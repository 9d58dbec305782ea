package catalog_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/world/servers"
)

// bench holds the servers and the lock of one test.
type bench struct {
	t     *testing.T
	impl  impls.Impl
	nodes []string
}

// eachNamed runs a test on the named locks, on the emulator and, if installed, on a real server. The subtests share servers
// and run in parallel, because they mostly wait for leases to expire.
func eachNamed(t *testing.T, names []string, test func(bench)) {
	for _, how := range []string{servers.Embedded, servers.Local} {
		t.Run(how, func(t *testing.T) {
			if how == servers.Local {
				needRedis(t)
			}
			g := shared(t, servers.Spec{How: how, Store: servers.Redis})
			t.Run("locks", func(t *testing.T) { // group the subtests, because t.Run returns only after all parallel subtests have ended
				for _, impl := range catalog.OnRedis() {
					if !slices.Contains(names, impl.Name) {
						continue
					}
					t.Run(impl.Name, func(t *testing.T) {
						t.Parallel()
						test(bench{t, impl, g.Front()})
					})
				}
			})
		})
	}
}

// open opens the lock for the process with the given number.
func (b bench) open(process int, renewed func(impls.Grant, time.Duration, error)) impls.Lock {
	b.t.Helper()
	lock, err := b.impl.Open(impls.Env{Nodes: b.nodes, Prefix: b.t.Name() + ":", Process: process,
		Rand: impls.NewRand(1, uint64(process)), Renewed: renewed})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { lock.Close() })
	return lock
}

// server returns a Redis client that is separate from the lock under test.
func (b bench) server() *redis.Client {
	b.t.Helper()
	opts, err := redis.ParseURL(b.nodes[0])
	if err != nil {
		b.t.Fatal(err)
	}
	c := redis.NewClient(opts)
	b.t.Cleanup(func() { c.Close() })
	return c
}

func (b bench) key() string { return b.t.Name() + ":k" }

func (b bench) acquire(l impls.Lock, owner string, ttl, wait time.Duration) impls.Hold {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	h, err := l.Acquire(ctx, impls.Request{Key: "k", Owner: owner, TTL: ttl, Wait: wait})
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

// TestOverwrittenField checks a known defect: another thread's refused try overwrites the stored token. The holder can then
// no longer release its key.
func TestOverwrittenField(t *testing.T) {
	eachNamed(t, []string{"shared-token"}, func(b bench) {
		l := b.open(0, nil)
		h := b.acquire(l, "a", 10*time.Second, 0)
		if _, err := l.Acquire(b.t.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			b.t.Errorf("another: %v, want busy", err)
		}
		if err := l.Release(b.t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("release: %v, want not held", err)
		}
		if token, _, err := l.(impls.Prober).Probe(b.t.Context(), "k"); err != nil || token != h.Token {
			b.t.Errorf("the store says %q, %v: the key should have stayed", token, err)
		}
	})
}

// TestRefusedThenGranted checks a known defect. After a refused try, the next try of the same thread is granted although
// another client holds the lock.
func TestRefusedThenGranted(t *testing.T) {
	eachNamed(t, []string{"reentrant-flag", "reentrant-count"}, func(b bench) {
		l := b.open(0, nil)
		b.acquire(l, "a", 10*time.Second, 0)
		if _, err := l.Acquire(b.t.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			b.t.Errorf("the first try: %v, want busy", err)
		}
		h := b.acquire(l, "b", 10*time.Second, 0) // known defect: the acquire is granted although another client holds the key
		if err := l.Release(b.t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("release: %v, want not held", err)
		}
	})
}

// TestExpiredLeaseIsNotReentered checks a request of an owner whose lease has expired. The request must be refused if
// another client holds the lock.
func TestExpiredLeaseIsNotReentered(t *testing.T) {
	eachNamed(t, []string{"reentrant-count-fixed", "redisson-lease"}, func(b bench) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 300*time.Millisecond, 0)
		b.acquire(second, "b", 10*time.Second, -1)
		if _, err := first.Acquire(b.t.Context(), request("a", 0)); !errors.Is(err, impls.ErrBusy) {
			b.t.Errorf("re-entry after the lease: %v, want busy", err)
		}
		if err := first.Release(b.t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("release after the lease: %v, want not held", err)
		}
	})
}

// TestLegacyRelease checks that the release of an expired hold succeeds, and that the release of another client's hold
// fails.
func TestLegacyRelease(t *testing.T) {
	eachNamed(t, []string{"redisson-legacy"}, func(b bench) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", 10*time.Second, 0)
		b.server().Del(b.t.Context(), b.key())
		if err := first.Release(b.t.Context(), h.Grant); err != nil {
			b.t.Errorf("release of an expired hold: %v, want success", err)
		}
		b.acquire(second, "b", 10*time.Second, 0)
		if err := first.Release(b.t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("release of another client's hold: %v, want not held", err)
		}
	})
}
