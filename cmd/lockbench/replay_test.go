package main

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockbench/internal/cli"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/explore"
	"lockbench/workloads"
)

// stalledCase writes a test case to a file and returns its path. In the case, a client that holds a lock is paused
// until its lease expires.
func stalledCase(t *testing.T) (path string) {
	t.Helper()
	p := workloads.Defaults()
	p.Clients, p.Processes, p.TTL, p.Hold, p.Duration = 3, 2, 800*time.Millisecond, 560*time.Millisecond, 2400*time.Millisecond
	begun := workloads.Moment{Point: workloads.Granted}
	path = filepath.Join(t.TempDir(), "case.json")
	err := explore.WriteFile(path, explore.File{Property: "mutual-exclusion", Case: explore.Case{Lock: "set-px", Deployment: "single", Workload: "counter", Params: p,
		Plan: faults.Plan{Steps: []faults.Step{{When: faults.Trigger{At: begun}, Do: faults.Action{Verb: faults.Stall, By: 1200 * time.Millisecond}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// onOne makes the test use only one processor. With several processors, lockbench would simulate in a child process.
func onOne(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "1") // restored at the end of the test
}

// TestReplayWithoutServers checks that lockbench replay prints the result of the simulation even if redis-server is
// missing.
func TestReplayWithoutServers(t *testing.T) {
	onOne(t)
	path, out := stalledCase(t), t.TempDir()
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), &stdout, &stderr, []string{"replay", "--servers", "local", "--out", out, path})
	if code != console.ExitEnvironment || !strings.Contains(stderr.String(), "redis-server") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if !strings.Contains(stdout.String(), "in simulation: reproduced: mutual-exclusion violated") {
		t.Errorf("stdout %q", &stdout)
	}
}

// TestReplayInterrupted checks that lockbench replay starts no trial on real servers after an interrupt.
func TestReplayInterrupted(t *testing.T) {
	onOne(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := cli.Run(ctx, &stdout, &stderr, []string{"replay", "--servers", "local", "--out", t.TempDir(), stalledCase(t)}); code != console.ExitInterrupted {
		t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
}
