package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestFaultsEndWithTheCoordinator kills a coordinator while an agent has paused a process of a trial. The agent must notice the silence,
// heal the fault and end the processes of the trial. It must then run the trials of another coordinator.
func TestFaultsEndWithTheCoordinator(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "nats://" + l.Addr().String()
	l.Close()
	dir := t.TempDir()
	run := func(out, ttl string) *execution {
		return execute(t, dir, "run", "--servers", "embedded", "--locks", "set-px-lua", "--no-controls", "--faults", "process-pause", "--trials", "1",
			"--ttl", ttl, "--out", out, "--listen", at, "--agents-only")
	}
	coordinator := run("killed", "1m")
	agent := execute(t, dir, "agent", "--join", at, "--slots", "1")
	until := func(bound time.Duration, what string, seen func(states string) bool) {
		t.Helper()
		for deadline := time.Now().Add(bound); ; time.Sleep(100 * time.Millisecond) {
			states := statesBelow(agent.cmd.Process.Pid)
			if seen(states) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("not seen within %v: %s (states of processes: %q)\n%s\n%s", bound, what, states, &coordinator.stderr, &agent.stderr)
			}
		}
	}
	// The client holds for 42 s and is paused in its second hold; the first holds of the plan are short.
	until(90*time.Second, "a process is paused", func(states string) bool { return strings.Contains(states, "T") })
	coordinator.kill()
	// One process remains: the one that ends the others if the agent is killed.
	until(30*time.Second, "the processes of the trial are gone", func(states string) bool { return len(states) <= 1 && states != "T" })
	coordinator = run("again", "400ms")
	if _, err := coordinator.wait(); err != nil {
		t.Fatal(err)
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "again", "set-px-lua", "*", "*", "history.jsonl.zst")); len(all) != 1 {
		t.Errorf("histories %q", all)
	}
}

// statesBelow returns the states of the processes below a process, as letters of /proc, in no order.
func statesBelow(root int) string {
	type process struct {
		parent int
		state  string
	}
	all := map[int]process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat")) // the process may have ended
		_, after, _ := strings.Cut(string(text), ") ")
		var p process
		if _, err := fmt.Sscan(after, &p.state, &p.parent); err == nil {
			all[pid] = p
		}
	}
	var states strings.Builder
	for pid, p := range all {
		for parent := p.parent; parent > 1; parent = all[parent].parent {
			if parent == root {
				states.WriteString(all[pid].state)
				break
			}
		}
	}
	return states.String()
}
