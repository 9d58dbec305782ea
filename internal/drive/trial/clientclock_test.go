package trial

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
		for _, fault := range []faults.Fault{faultNamed("client-clock-forward"), faultNamed("client-clock-back"), clientDrift} {
			t.Run(of+"/"+fault.Name, func(t *testing.T) {
				t.Parallel()
				lock := impls.Impl{Name: "lease-end-" + of, Store: servers.Redis, Deployment: servers.Single, Leased: true,
					Program: &impls.Program{Version: 2, Command: []string{"/usr/bin/env", "PYTHONPATH=" + library, python, "testdata/lease_end.py", of}}}
				c := Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: fault}
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

func faultNamed(name string) faults.Fault {
	return faults.All()[slices.IndexFunc(faults.All(), func(f faults.Fault) bool { return f.Name == name })]
}

// clientDrift is a fault that only the search injects: the clock of a waiter runs at twenty times its speed while another client holds
// the lock. As with client-clock-forward, that client holds the lock first.
var clientDrift = faults.Fault{Name: "client-clock-drift", Kind: faults.Clients, Workers: true, Plan: func(s faults.Scene) faults.Plan {
	plan := faultNamed("client-clock-forward").Plan(s)
	plan.Steps = []faults.Step{{When: plan.Steps[0].When, Do: faults.Action{Verb: faults.ClientDrift, Process: 1, By: 20 * time.Second}, For: 3 * s.TTL}}
	return plan
}}

// TestClientClockNeedsLibrary checks that a change of the clock is refused if the process does not read the changed clock.
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
	s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults(), Worker: own}
	lock := lockNamed(t, "set-px-lua")
	stage, err := s.Stage(lock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, fault := range []faults.Fault{faultNamed("client-clock-forward"), clientDrift} {
		var p Played
		for tries := 0; tries < 5 && (tries == 0 || strings.Contains(p.Discarded, "was paused")); tries++ { // a busy machine discards trials
			if p, err = stage.Play(t.Context(), Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: fault}); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(p.Discarded, "statically linked") {
			t.Errorf("%s: discarded: %q", fault.Name, p.Discarded)
		}
	}
}
