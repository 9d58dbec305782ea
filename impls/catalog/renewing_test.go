package catalog_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"lockbench/impls"
)

// The type told collects the renewals that a lock reports by calling Env.Renewed.
type told struct {
	mu   sync.Mutex
	sent []time.Duration
	errs []error
	last impls.Grant
}

func (r *told) renewed(g impls.Grant, sent time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent, r.errs, r.last = append(r.sent, sent), append(r.errs, err), g
}

func (r *told) all() ([]time.Duration, impls.Grant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]time.Duration(nil), r.sent...), r.last, errors.Join(r.errs...)
}

// TestRenewal checks that a hold is renewed beyond its first lease, that each renewal is reported, and that a release stops
// the renewals.
func TestRenewal(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	const ttl = 900 * time.Millisecond
	eachNamed(t, []string{"blind-renewal", "redisson", "redisson-legacy"}, func(b bench) {
		var r told
		l := b.open(0, r.renewed)
		h := b.acquire(l, "a", ttl, 0)
		if b.impl.Reentrant { // the inner hold neither starts a second renewal nor ends the first
			inner := b.acquire(l, "a", ttl, 0)
			if err := l.Release(b.t.Context(), inner.Grant); err != nil {
				b.t.Error(err)
			}
		}
		time.Sleep(2 * ttl)
		sent, last, err := r.all()
		if n := len(sent); n < 2 || n > 7 || err != nil || sent[0] < ttl/3 {
			b.t.Errorf("renewals sent %v after the acquire, %v", sent, err)
		}
		if last.Token != h.Token || last.Validity != ttl || last.Key != "k" {
			b.t.Errorf("the renewal is of %+v", last)
		}
		if token, left, err := l.(impls.Prober).Probe(b.t.Context(), "k"); err != nil || token != h.Token || left <= 0 || left > ttl {
			b.t.Errorf("after twice the lease the store says %q, %v, %v", token, left, err)
		}
		if err := l.Release(b.t.Context(), h.Grant); err != nil {
			b.t.Error(err)
		}
		before, _, _ := r.all()
		time.Sleep(ttl)
		if after, _, _ := r.all(); len(after) != len(before) {
			b.t.Errorf("%d renewals after the release", len(after)-len(before))
		}
	})
}

// TestCloseEndsRenewal checks that a hold expires after its lock is closed.
func TestCloseEndsRenewal(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachNamed(t, []string{"blind-renewal", "redisson", "redisson-legacy"}, func(b bench) {
		l := b.open(0, nil)
		b.acquire(l, "a", 600*time.Millisecond, 0)
		if err := l.Close(); err != nil {
			b.t.Error(err)
		}
		b.acquire(b.open(1, nil), "b", 10*time.Second, -1)
	})
}

// TestLossIsReported checks what a lock does when the key of a holder is deleted. Redisson's watchdog must report the loss;
// blind-renewal must continue to renew.
func TestLossIsReported(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachNamed(t, []string{"blind-renewal", "redisson", "redisson-legacy"}, func(b bench) {
		var r told
		l := b.open(0, r.renewed)
		h := b.acquire(l, "a", 600*time.Millisecond, 0)
		if err := b.server().Del(b.t.Context(), b.key()).Err(); err != nil {
			b.t.Fatal(err)
		}
		waitUntil(b.t, "a renewal is refused", func() bool { _, _, err := r.all(); return errors.Is(err, impls.ErrNotHeld) })
		if b.impl.Name == "blind-renewal" {
			waitUntil(b.t, "it goes on renewing", func() bool { sent, _, _ := r.all(); return len(sent) > 2 })
		} else {
			select {
			case <-h.Lost:
			case <-time.After(10 * time.Second):
				b.t.Error("the loss was not reported")
			}
		}
		err := l.Release(b.t.Context(), h.Grant)
		if legacy := b.impl.Name == "redisson-legacy"; legacy != (err == nil) || !legacy && !errors.Is(err, impls.ErrNotHeld) {
			b.t.Errorf("release of a lost hold: %v", err)
		}
	})
}

// TestNotified checks that a release notifies a waiter, which is then granted. Without the notification, the waiter would
// be granted only when the lease expires.
func TestNotified(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachNamed(t, []string{"redisson", "redisson-lease", "redisson-legacy"}, func(b bench) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", time.Minute, 0)
		release := time.AfterFunc(100*time.Millisecond, func() {
			if err := first.Release(b.t.Context(), h.Grant); err != nil {
				b.t.Error(err)
			}
		})
		defer release.Stop()
		h = b.acquire(second, "b", 700*time.Millisecond, -1) // fails after 20 s, long before the lease of a minute expires
		server := b.server()
		time.AfterFunc(100*time.Millisecond, func() { server.Del(context.Background(), b.key()) })
		b.acquire(first, "c", time.Minute, -1)
	})
}

// TestCancelledWaiter checks that a cancelled waiter leaves neither a subscription nor a goroutine.
func TestCancelledWaiter(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	eachNamed(t, []string{"redisson", "redisson-lease", "redisson-legacy"}, func(b bench) {
		first, second := b.open(0, nil), b.open(1, nil)
		h := b.acquire(first, "a", time.Minute, 0)
		server, channel := b.server(), "redisson_lock__channel:{"+b.key()+"}"
		count := func() int64 { return server.PubSubNumSub(b.t.Context(), channel).Val()[channel] }
		ctx, cancel := context.WithCancel(b.t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := second.Acquire(ctx, request("b", -1)); !errors.Is(err, impls.ErrBusy) && !errors.Is(err, context.Canceled) {
					b.t.Errorf("a cancelled waiter: %v, want busy, or cancelled in the middle of a command", err)
				}
			})
		}
		waitUntil(b.t, "one subscription for the waiters of a process", func() bool { return count() == 1 })
		cancel()
		wg.Wait()
		waitUntil(b.t, "no subscription is left", func() bool { return count() == 0 })
		// The next waiter subscribes again, and must be notified of the release.
		time.AfterFunc(100*time.Millisecond, func() { first.Release(context.Background(), h.Grant) })
		b.acquire(second, "c", time.Minute, -1)
	})
}

// TestCloseLeavesNoGoroutine checks that Close ends the goroutines of holds, waiters and subscriptions.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	eachLock(t, func(t *testing.T, impl impls.Impl, a, b impls.Lock) {
		if impl.Store == "" {
			return
		}
		before := runtime.NumGoroutine()
		if _, err := a.Acquire(t.Context(), request("a", 0)); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { b.Acquire(t.Context(), request("b", 50*time.Millisecond)) })
		}
		wg.Wait()
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		waitUntil(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	})
}
