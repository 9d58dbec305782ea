package examples

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/drive/workers"
)

// sessionTTL is the requested lease in tests of examples whose library renews the lease. It is the shortest lease that
// etcd grants.
const sessionTTL = 2 * time.Second

// The variable kept lists the examples that keep the lease alive while a client holds the lock.
var kept = []struct {
	name, store string
	command     func(*testing.T) []string
	waits       bool // whether the library itself waits until the lock is granted
	checks      bool // whether a second release is refused; false for etcd3, which ignores it
	validity    time.Duration
}{
	{"kazoo", "zookeeper", python("kazoo", "kazoo"), true, true, 0},
	{"etcd3-node", "etcd", node("etcd3-node", "etcd3"), false, false, sessionTTL},
}

// TestKeptAlive tests the examples whose library renews the lease until the release. Other clients must be refused while
// the lock is held, even after the original lease period. The test also checks waiting, releases, the guarded resource,
// the report of a lost lock, and a killed holder.
func TestKeptAlive(t *testing.T) {
	for _, x := range kept {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			a, b := startOn(t, x.store, sessionTTL, x.name, x.command(t))
			if a.Can(worker.CanWait) != x.waits || !a.Can(worker.CanCancel) || !a.Can(worker.CanTellLoss) || !a.Can(worker.CanRenewSelf) {
				t.Errorf("its capabilities are %q", a.Ready.Capabilities)
			}
			t.Run("exclusion", func(t *testing.T) { keptExclusion(t, a.Lock(), b.Lock(), x.validity) })
			t.Run("release", func(t *testing.T) { keptReleases(t, a.Lock(), x.checks) })
			t.Run("loss", func(t *testing.T) { checkLossReport(t, a, b) })
			t.Run("resource", func(t *testing.T) { resource(t, a) })
			t.Run("death", func(t *testing.T) { dies(t, a, b) })
			if err := errors.Join(a.Failed(), b.Failed(), b.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func keptRequest(key string, wait time.Duration) impls.Request {
	r := request(key, wait)
	r.TTL = sessionTTL
	return r
}

func keptExclusion(t *testing.T, a, b impls.Lock, validity time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	held, err := a.Acquire(ctx, keptRequest("k", 0))
	if err != nil || held.Validity != validity {
		t.Fatalf("%+v, %v", held.Grant, err)
	}
	for end := time.Now().Add(sessionTTL + sessionTTL/2); time.Now().Before(end); {
		for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
			if _, err := b.Acquire(ctx, keptRequest("k", wait)); !errors.Is(err, impls.ErrBusy) {
				t.Fatalf("an acquire with a wait of %v: %v, want busy", wait, err)
			}
		}
	}
	if token, left, err := b.(impls.Prober).Probe(ctx, "k"); err != nil || token != held.Token || left == 0 {
		t.Errorf("the store says %q, %v, %v; want %q", token, left, err, held.Token)
	}
	impatient, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	began := time.Now()
	if _, err := b.Acquire(impatient, keptRequest("k", -1)); !errors.Is(err, impls.ErrBusy) || time.Since(began) > time.Second {
		t.Errorf("a cancelled acquire: %v after %v, want busy soon", err, time.Since(began))
	}
	granted := make(chan error, 1)
	go func() {
		h, err := b.Acquire(ctx, keptRequest("k", -1))
		if err == nil {
			err = b.Release(ctx, h.Grant)
		}
		granted <- err
	}()
	time.Sleep(100 * time.Millisecond) // give the other client time to start waiting
	if err := a.Release(ctx, held.Grant); err != nil {
		t.Error(err)
	}
	if err := <-granted; err != nil {
		t.Errorf("waiting: %v", err)
	}
	if token, _, err := a.(impls.Prober).Probe(ctx, "k"); err != nil || token != "" {
		t.Errorf("the store says %q, %v after the release", token, err)
	}
}

func keptReleases(t *testing.T, a impls.Lock, checks bool) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	held, err := a.Acquire(ctx, keptRequest("r", 0))
	if err == nil {
		err = a.Release(ctx, held.Grant)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Release(ctx, held.Grant); errors.Is(err, impls.ErrNotHeld) != checks {
		t.Errorf("a second release: %v", err)
	}
	if err := a.Release(ctx, impls.Grant{Key: "r", Owner: "c", Token: "never"}); !errors.Is(err, impls.ErrNotHeld) {
		t.Errorf("release of an unknown grant: %v, want not held", err)
	}
}

// checkLossReport tests that the client in process a reports the loss of its lock. Process a is paused while it
// holds the lock, until process b has acquired the lock. After it has resumed, process a must report the loss.
func checkLossReport(t *testing.T, a, b *workers.Process) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	held, err := a.Lock().Acquire(ctx, keptRequest("l", 0))
	if err == nil {
		err = a.Pause()
	}
	if err != nil {
		t.Fatal(err)
	}
	next, err := b.Lock().Acquire(ctx, keptRequest("l", -1))
	if err := errors.Join(err, a.Resume()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-held.Lost:
	case <-ctx.Done():
		t.Error("the loss was not reported")
	}
	if err := b.Lock().Release(ctx, next.Grant); err != nil {
		t.Error(err)
	}
	if slices.Contains(b.Ready.Capabilities, worker.CanWait) && next.SentAfter != 0 {
		t.Errorf("sent after %v, although the library waits by itself", next.SentAfter)
	}
}

// dies checks that the lock of a killed process becomes free.
func dies(t *testing.T, a, b *workers.Process) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if _, err := a.Lock().Acquire(ctx, keptRequest("d", 0)); err != nil {
		t.Fatal(err)
	}
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lock().Acquire(ctx, keptRequest("d", -1)); err != nil {
		t.Error(err)
	}
}
