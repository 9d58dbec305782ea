package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/world/children"
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

// onOneAgain is a program that starts itself again on one processor, and ends with 7.
func onOneAgain() {
	done, err := onOneProcessor(context.Background(), os.Stdout, os.Stderr)
	if done {
		os.Exit(report(os.Stderr, err))
	}
	fmt.Printf("%d processor, asked for %q\n", runtime.GOMAXPROCS(0), os.Args[1:])
	onAllProcessors()
	fmt.Printf("then GOMAXPROCS=%q\n", os.Getenv("GOMAXPROCS"))
	os.Exit(7)
}

// TestReplayWithoutServers: what was seen in simulation is said all the same.
func TestReplayWithoutServers(t *testing.T) {
	onOne(t)
	path, out := stalledCase(t), t.TempDir()
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	code := lockbench(t.Context(), &stdout, &stderr, []string{"replay", "--servers", "local", "--out", out, path})
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
	if code := lockbench(ctx, &stdout, &stderr, []string{"replay", "--servers", "local", "--out", t.TempDir(), stalledCase(t)}); code != exitInterrupted {
		t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
}

// TestReplayCodes: 0 is for what showed everywhere it was asked to.
func TestReplayCodes(t *testing.T) {
	shows, silent := simulated{Shows: true}, simulated{}
	for _, c := range []struct {
		simulation simulated
		servers    *onServers
		want       int
	}{
		{shows, nil, 0}, {silent, nil, exitBroken}, {shows, &onServers{Shows: true}, 0}, {shows, &onServers{}, exitUndecided},
		{silent, &onServers{}, exitBroken}, {silent, &onServers{Shows: true}, exitBroken}, {shows, &onServers{Shows: true, disagree: true}, exitInternal},
		{simulated{Shows: true, disagree: true}, nil, exitInternal},
	} {
		got := 0
		var e *exit
		if err := (replayed{Simulation: c.simulation, Servers: c.servers}).codes().exit(); errors.As(err, &e) {
			got = e.code
		}
		if got != c.want {
			t.Errorf("%+v, %+v: exit code %d, want %d", c.simulation, c.servers, got, c.want)
		}
	}
}

// TestServersSaid: what was not seen is not said to hold.
func TestServersSaid(t *testing.T) {
	for want, s := range map[string]onServers{
		"on redis 7: fencing violated in trial 2 of 5\n  who held\n  history: h\n":                                                 {Server: "redis 7", Shows: true, Trials: 2, Of: 5, Story: "who held", History: "h"},
		"on redis 7: fencing not seen to be violated in 5 trials\n  in 3 of them not all of the plan came about\n  histories: d\n": {Server: "redis 7", Trials: 5, Of: 5, Missed: 3, Folder: "d"},
		"on real servers: fencing not seen to be violated in 0 trials, and no more were made: void\n":                              {Of: 5, GaveUp: "void"},
	} {
		var said strings.Builder
		s.print(&said, "fencing")
		if said.String() != want {
			t.Errorf("got  %q\nwant %q", said.String(), want)
		}
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
