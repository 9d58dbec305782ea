//go:build unix

package redis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/world/children"
	"lockbench/internal/world/clock"
	"lockbench/internal/world/servers"
)

// asHarness is an environment variable. If it is set, the test binary starts a deployment, prints its processes and
// URLs, and waits.
const asHarness = "LOCKBENCH_TEST_AS_HARNESS"

func TestMain(m *testing.M) {
	deployment := os.Getenv(asHarness)
	if deployment == "" {
		os.Exit(m.Run())
	}
	if err := beHarness(deployment); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.Sleep(time.Hour) // without cgo, the runtime would report select {} as a deadlock
}

func beHarness(deployment string) error {
	s := servers.Spec{How: servers.Local, Store: servers.Redis, Deployment: deployment, Clock: clock.Missing() == nil}
	g, err := servers.Start(context.Background(), Store(), s)
	if err != nil {
		return err
	}
	nodes := []*node{g.Nodes[0].(*node)}
	if r, is := g.Replication.(*replicated); is {
		nodes = append(r.nodes, r.sentinels...)
	}
	if runtime.GOOS == "linux" {
		if err := nodes[0].Pause(); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		fmt.Println(n.Pid(), n.URL())
	}
	fmt.Println(0, "end")
	return nil
}

// isRunning reports whether a process is running. It returns false for a zombie.
func isRunning(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err == nil && !strings.HasPrefix(string(state), "Z")
}

func TestKilledHarnessLeavesNothing(t *testing.T) {
	for deployment, processes := range map[string]int{servers.Single: 1, servers.Sentinel: 6} {
		t.Run(deployment, func(t *testing.T) {
			needRedis(t)
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			harness := exec.Command(os.Args[0])
			harness.Env = append(os.Environ(), asHarness+"="+deployment)
			harness.Stderr = os.Stderr
			out, err := harness.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := harness.Start(); err != nil {
				t.Fatal(err)
			}
			started := map[int]string{} // URL of each node by process ID
			for r := bufio.NewReader(out); ; {
				var pid int
				var url string
				if _, err := fmt.Fscan(r, &pid, &url); err != nil || url == "end" {
					break
				}
				started[pid] = url
				if !isRunning(pid) || !listens(t, url) {
					t.Errorf("process %d does not listen on %s", pid, url)
				}
			}
			if len(started) != processes {
				t.Errorf("%d processes, want %d", len(started), processes)
			}
			if err := harness.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = harness.Wait() // the process was killed, so Wait returns an error
			for pid, url := range started {
				waitUntil(t, "the server is gone", func() bool { return !isRunning(pid) && !listens(t, url) })
			}
			waitUntil(t, "its folders are gone", func() bool {
				left, err := os.ReadDir(tmp)
				return err == nil && len(left) == 0
			})
		})
	}
}

func TestStopEndsAPausedServer(t *testing.T) {
	n := startGroup(t, servers.Local, servers.Single).Nodes[0].(*node)
	if err := n.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil || isRunning(n.Pid()) {
		t.Errorf("runs: %t, %v", isRunning(n.Pid()), err)
	}
}

func TestTakenPortIsRetried(t *testing.T) {
	other := startGroup(t, servers.Local, servers.Single).Nodes[0].(*node) // this server occupies the port and answers
	k, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	asked := 0
	l := servers.NewLauncher(Store(), k)
	freePort := l.FreePort
	l.FreePort = func() (int, error) {
		if asked++; asked < 5 {
			return other.Ports[0], nil
		}
		return freePort()
	}
	starter := starter{Launcher: l}
	n, err := starter.start(t.Context(), 1, kind{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n[0].Stop(); err != nil {
		t.Error(err)
	}
	if n[0].Ports[0] == other.Ports[0] || asked != 5 {
		t.Errorf("port %d after %d attempts, the other has %d", n[0].Ports[0], asked, other.Ports[0])
	}
	l.FreePort = func() (int, error) { return other.Ports[0], nil }
	if _, err := starter.start(t.Context(), 1, kind{}); err == nil || !strings.Contains(err.Error(), "the port was taken") {
		t.Errorf("every port taken: %v", err)
	}
}

// startFake starts a shell script as if it were redis-server.
func startFake(t *testing.T, ctx context.Context, script string) error {
	t.Helper()
	program := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	t.Setenv("TMPDIR", t.TempDir())
	of := Store()
	of.Command = func(*servers.Process) (*exec.Cmd, error) { return exec.Command(program), nil }
	_, err = servers.NewLauncher(of, k).Start(ctx, of, 1)
	return err
}

func TestServerThatExits(t *testing.T) {
	err := startFake(t, t.Context(), "echo it is too early >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "it is too early") || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestServerThatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := startFake(t, ctx, "echo thinking; exec sleep 1000")
	if err == nil || !strings.Contains(err.Error(), "thinking") {
		t.Error(err)
	}
}

func TestAddressesArePrivate(t *testing.T) {
	for _, url := range startGroup(t, servers.Local, servers.Single).URLs() {
		if host, _, err := net.SplitHostPort(strings.TrimPrefix(url, "redis://")); err != nil || host != "127.0.0.1" {
			t.Errorf("%s: %v", url, err)
		}
	}
}
