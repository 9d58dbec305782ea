package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockbench/internal/children"
	"lockbench/internal/explore"
	"lockbench/internal/faults"
	"lockbench/workloads"
)

// stalledCase writes a case in which a lease ends while its holder works.
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

// onOne has the test run on one processor: it would start itself again otherwise.
func onOne(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "1") // put back at the end
}

// TestReplayWithoutServers: what was seen in simulation is said all the same.
func TestReplayWithoutServers(t *testing.T) {
	onOne(t)
	path, out := stalledCase(t), t.TempDir()
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), &stdout, &stderr, []string{"replay", "--servers", "local", "--out", out, path})
	if code != exitEnvironment || !strings.Contains(stderr.String(), "redis-server") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if !strings.Contains(stdout.String(), "in simulation: shows: mutual-exclusion violated") {
		t.Errorf("stdout %q", &stdout)
	}
}

// TestReplayInterrupted: nothing is tried on servers once somebody has had enough.
func TestReplayInterrupted(t *testing.T) {
	onOne(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, &stdout, &stderr, []string{"replay", "--servers", "local", "--out", t.TempDir(), stalledCase(t)}); code != exitInterrupted {
		t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
}

// TestInterruptIsHandedOn: a program that was started again hears of an interrupt, and is waited for.
func TestInterruptIsHandedOn(t *testing.T) {
	keeper, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	folder := t.TempDir()
	again := exec.Command("/bin/sh", "-c", `trap 'echo heard >heard; exit 7' INT; echo up >up; while :; do sleep 0.05; done`)
	again.Dir = folder
	child, err := keeper.Start(again)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(folder, "up")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it did not come up")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := await(ctx, child, again); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "heard")); errors.Is(err, os.ErrNotExist) || again.ProcessState.ExitCode() != 7 {
		t.Errorf("it ended with %s, and %v", child.State(), err)
	}
}
