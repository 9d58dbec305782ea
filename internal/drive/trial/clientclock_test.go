package trial

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/clock"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestClientClock moves the clocks of clients. A lock that compares the end of a lease with the wall clock must violate
// lease-exclusion, and one with a monotonic clock must not.
func TestClientClock(t *testing.T) {
	t.Parallel()
	needRedis(t)
	if err := clock.Missing(); err != nil {
		t.Skip(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("apt install python3")
	}
	library, err := filepath.Abs("../../../impls/worker/python")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"time", "monotonic"} {
		for _, fault := range []string{"client-clock-forward", "client-clock-back"} {
			t.Run(of+"/"+fault, func(t *testing.T) {
				t.Parallel()
				lock := impls.Impl{Name: "lease-end-" + of, Store: servers.Redis, Deployment: servers.Single, Leased: true,
					Program: &impls.Program{Version: 2, Command: []string{"/usr/bin/env", "PYTHONPATH=" + library, python, "testdata/lease_end.py", of}}}
				i := slices.IndexFunc(faults.All(), func(f faults.Fault) bool { return f.Name == fault })
				c := Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: faults.All()[i]}
				s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults()}
				_, out := s.tryOnce(t, c)
				violated := slices.ContainsFunc(out.Verdict.Findings, func(f checker.Finding) bool {
					return f.Property == "lease-exclusion" && f.Observed == checker.Violated
				})
				if want := of == "time"; violated != want {
					t.Errorf("lease-exclusion violated: %v, want %v", violated, want)
				}
			})
		}
	}
}

// TestClientClockNeedsLibrary checks that a move of the clock is refused if the process does not read the moved clock.
func TestClientClockNeedsLibrary(t *testing.T) {
	t.Parallel()
	needRedis(t)
	if err := clock.Missing(); err != nil {
		t.Skip(err)
	}
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	fault := faults.All()[slices.IndexFunc(faults.All(), func(f faults.Fault) bool { return f.Name == "client-clock-forward" })]
	s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults(), Worker: own}
	lock := lockNamed(t, "set-px-lua")
	stage, err := s.Stage(lock)
	if err != nil {
		t.Fatal(err)
	}
	p, err := stage.Play(t.Context(), Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: fault})
	if err = errors.Join(err, stage.Close()); err != nil || !strings.Contains(p.Discarded, "statically linked") {
		t.Errorf("discarded: %q, error: %v", p.Discarded, err)
	}
}
