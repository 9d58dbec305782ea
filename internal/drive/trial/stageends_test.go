package trial

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// newTestStage returns a stage for a lock on installed servers. When the test ends, the stage is closed. It must then
// leave no goroutine and no file behind.
func newTestStage(t *testing.T, lock impls.Impl, worker ...string) *Stage {
	t.Helper()
	if err := stores.Missing(lock.Store); err != nil {
		t.Skip(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if worker == nil {
		worker = []string{own, "worker"}
	}
	// The first server of a store may create files that later servers use. Start a server before the temporary folder is
	// set.
	g, err := stores.Start(t.Context(), servers.Spec{How: servers.Local, Store: lock.Store, Deployment: lock.Deployment, Self: own})
	if err == nil {
		err = g.Stop()
	}
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { // PostgreSQL runs as another user
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folder)
	before := runtime.NumGoroutine()
	stage, err := Setting{Run: "stage", Servers: servers.Local, Worker: worker, Self: own}.Stage(lock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(folder)
		if err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
		for range 100 { // a goroutine may need a moment to end after its connection was closed
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines are left, %d were there before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
	})
	return stage
}

// lasting returns a cell for trials with two clients. The duration and the fault plan are parameters.
func lasting(t *testing.T, lock impls.Impl, duration time.Duration, steps ...faults.Step) Cell {
	t.Helper()
	p := workloads.Defaults()
	p.Clients, p.Processes, p.TTL, p.Hold, p.Duration = 2, 2, 800*time.Millisecond, 20*time.Millisecond, duration
	cell, err := Planned("explored", lock, lock.Deployment, namedWorkload("counter"), p, faults.Plan{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

// works checks that the stage can run a trial without a fault. The lock must be granted several times.
func works(t *testing.T, stage *Stage, lock impls.Impl) {
	t.Helper()
	played, err := stage.Play(t.Context(), lasting(t, lock, 400*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if n := played.Verdict.Counts.Grants; n < 5 {
		t.Errorf("%d grants", n)
	}
}

// TestStageInterrupted checks that a trial ends when its context ends: before the trial begins, while it starts
// processes, or while its clients run. The stage must be usable after that.
func TestStageInterrupted(t *testing.T) {
	lock := lockNamed(t, "set-px-lua")
	stage := newTestStage(t, lock)
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 2 * time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		played, err := stage.Play(ctx, lasting(t, lock, time.Minute))
		cancel()
		if err == nil && played.Verdict.Counts.Grants == 0 {
			t.Errorf("interrupted after %v: neither an error nor a grant", after)
		}
		works(t, stage, lock)
	}
}

// TestStageWorkerDies checks a worker process that ends by itself. Play must return an error, and the next trial must
// get another process.
func TestStageWorkerDies(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lock := lockNamed(t, "set-px-lua")
	// The first process to start makes the folder and ends after a second. Later processes find the folder and run
	// normally.
	const script = `if mkdir "$0" 2>/dev/null; then exec timeout 1 "$1" worker; fi; exec "$1" worker`
	stage := newTestStage(t, lock, "sh", "-c", script, t.TempDir()+"/first", own)
	if _, err := stage.Play(t.Context(), lasting(t, lock, 5*time.Second)); err == nil || !strings.Contains(err.Error(), "it exited") {
		t.Errorf("%v, want an error that says that a worker exited", err)
	}
	works(t, stage, lock)
}

// TestStageRestarts restarts the servers of several stores in one trial. The next trial must be able to use them.
func TestStageRestarts(t *testing.T) {
	for _, name := range []string{"postgres-advisory", "etcd"} {
		t.Run(name, func(t *testing.T) {
			lock := lockNamed(t, name)
			stage := newTestStage(t, lock)
			works(t, stage, lock)
			group := stage.group
			restart := faults.Step{When: faults.Trigger{At: workloads.Moment{Client: 0, Point: workloads.Granted}}, Do: faults.Action{Verb: faults.Restart, Nodes: []int{0}}}
			if played, err := stage.Play(t.Context(), lasting(t, lock, 3*time.Second, restart)); err != nil || played.Missed != "" {
				t.Fatal(played.Missed, err)
			}
			works(t, stage, lock)
			if stage.group != group {
				t.Error("the servers were not kept")
			}
		})
	}
}
