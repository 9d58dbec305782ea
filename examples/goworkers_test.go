package examples

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/drive/workers"
)

// goModule returns a function that builds an example in Go, and returns its command line. Each example is a separate
// module with independent library versions.
func goModule(folder string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		if said, err := goCommand(t, folder, "mod", "download"); err != nil {
			need(t, "go-modules", "go mod download in examples/"+folder+": "+said)
		}
		program := filepath.Join(t.TempDir(), "worker")
		if said, err := goCommand(t, folder, "build", "-o", program, "."); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return []string{program}
	}
}

func goCommand(t *testing.T, folder string, args ...string) (said string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.WaitDelay = folder, time.Second
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// TestGoWorkerModule runs go vet and the tests of impls/worker/go, the Go module with the worker library.
func TestGoWorkerModule(t *testing.T) {
	for _, args := range [][]string{{"vet", "."}, {"test", "-count=1", "."}} {
		if said, err := goCommand(t, "../impls/worker/go", args...); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
}

// goExample describes an example in Go that does not run on Redis.
type goExample struct {
	name, store string
	ttl         time.Duration
	can         []string
}

func goExamples() []goExample {
	return []goExample{
		{name: "pglock", store: "postgres", ttl: time.Minute, can: []string{worker.CanCancel, worker.IsSession}},
	}
}

// TestGoExamples checks each example on its store: exclusion, waiting, cancelling, releases, fencing and the resource.
func TestGoExamples(t *testing.T) {
	for _, x := range goExamples() {
		t.Run(x.name, func(t *testing.T) {
			a, b := startOn(t, x.store, x.ttl, x.name, goModule(x.name)(t))
			if a.Ready.Name != x.name || strings.Join(a.Ready.Capabilities, " ") != strings.Join(x.can, " ") {
				t.Errorf("its first line: %+v", a.Ready)
			}
			t.Run("exclusion", func(t *testing.T) { x.exclusion(t, a.Lock(), b.Lock()) })
			t.Run("release", func(t *testing.T) { x.releases(t, a.Lock(), b.Lock()) })
			t.Run("death", func(t *testing.T) { x.death(t, a, b) })
			t.Run("resource", func(t *testing.T) { resource(t, b) })
			if err := errors.Join(b.Failed(), b.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func (x goExample) request(wait time.Duration) impls.Request {
	return impls.Request{Key: "k", Owner: "c", TTL: x.ttl, Wait: wait, KeepAlive: true}
}

func (x goExample) exclusion(t *testing.T, a, b impls.Lock) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	held, err := a.Acquire(ctx, x.request(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Acquire(ctx, x.request(0)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a try in the same process: %v, want busy", err)
	}
	if _, err := b.Acquire(ctx, x.request(0)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a try: %v, want busy", err)
	}
	began := time.Now()
	if _, err := b.Acquire(ctx, x.request(50*time.Millisecond)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("an acquire that timed out: %v", err)
	}
	impatient, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if _, err := b.Acquire(impatient, x.request(-1)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a cancelled acquire: %v", err)
	}
	if took := time.Since(began); took > 900*time.Millisecond { // lockbench waits at most 1 s after a cancel
		t.Errorf("the two acquires took %v", took)
	}
	granted := make(chan impls.Grant, 1)
	go func() {
		h, err := b.Acquire(ctx, x.request(-1))
		if err != nil {
			t.Errorf("waiting: %v", err)
		}
		granted <- h.Grant
	}()
	time.Sleep(200 * time.Millisecond) // give the other client time to start waiting
	select {
	case <-granted:
		t.Fatal("the waiter is granted while another client holds the lock")
	default:
	}
	if err := a.Release(ctx, held.Grant); err != nil {
		t.Error(err)
	}
	next := <-granted
	if next.Fence < held.Fence || next.Fence == held.Fence && held.Fence != 0 {
		t.Errorf("the fencing token %d follows %d", next.Fence, held.Fence)
	}
	if err := b.Release(ctx, next); err != nil {
		t.Error(err)
	}
}

func (x goExample) releases(t *testing.T, a, b impls.Lock) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	once, err := a.Acquire(ctx, x.request(0))
	if err == nil {
		err = a.Release(ctx, once.Grant)
	}
	if err != nil {
		t.Fatal(err)
	}
	held, err := b.Acquire(ctx, x.request(0))
	if err != nil {
		t.Fatal(err)
	}
	never := impls.Grant{Key: "k", Owner: "c", Token: "never"}
	for what, g := range map[string]impls.Grant{"a released grant": once.Grant, "an unknown grant": never} {
		if err := a.Release(ctx, g); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("release of %s: %v, want not held", what, err)
		}
	}
	if _, err := a.Acquire(ctx, x.request(0)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a refused release freed the key: %v", err)
	}
	if err := b.Release(ctx, held.Grant); err != nil {
		t.Error(err)
	}
}

// death checks that a lock becomes free when the process of its holder is killed.
func (x goExample) death(t *testing.T, a, b *workers.Process) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if _, err := a.Lock().Acquire(ctx, x.request(0)); err != nil {
		t.Fatal(err)
	}
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	h, err := b.Lock().Acquire(ctx, x.request(-1))
	if err == nil {
		err = b.Lock().Release(ctx, h.Grant)
	}
	if err != nil {
		t.Errorf("after the holder's death: %v", err)
	}
}
