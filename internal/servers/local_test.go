//go:build unix

package servers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/children"
)

// asHarness makes the test binary a harness that starts a local server, says where, and waits to be killed.
const asHarness = "LOCKBENCH_TEST_AS_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(asHarness) == "" {
		os.Exit(m.Run())
	}
	if err := beHarness(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func beHarness() error {
	g, err := Start(context.Background(), Spec{How: Local, Store: Redis})
	if err != nil {
		return err
	}
	n := g.Nodes[0].(*local)
	_, err = fmt.Println(n.pid(), n.dir, n.URL())
	return err
}

func (n *local) pid() int { return n.child.Pid() }

// runs says whether a process runs; one that has ended and was not waited for does not.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err == nil && !strings.HasPrefix(string(state), "Z")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestNothingOutlivesAKilledHarness(t *testing.T) {
	needRedis(t)
	t.Setenv("TMPDIR", t.TempDir())
	harness := exec.Command(os.Args[0])
	harness.Env = append(os.Environ(), asHarness+"=1")
	harness.Stderr = os.Stderr
	out, err := harness.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	var server int
	var dir, url string
	if _, err := fmt.Fscan(bufio.NewReader(out), &server, &dir, &url); err != nil || !runs(server) || !exists(dir) || !listens(t, url) {
		t.Errorf("the harness did not start a server: %d %s %s, %v", server, dir, url, err)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait() // it was killed
	eventually(t, "the server is gone", func() bool { return !runs(server) && !listens(t, url) })
	eventually(t, "its folder is gone", func() bool { return !exists(dir) })
}

func TestStopEndsAPausedServer(t *testing.T) {
	n := startGroup(t, Local, Single).Nodes[0].(*local)
	if err := n.child.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil || runs(n.pid()) {
		t.Errorf("runs: %t, %v", runs(n.pid()), err)
	}
}

func TestATakenPortIsNotTheEnd(t *testing.T) {
	other := startGroup(t, Local, Single).Nodes[0].(*local) // it answers, but it is not our child
	k, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	asked := 0
	l := launcher{k, redisProgram, func() (int, error) {
		if asked++; asked < 5 {
			return other.port, nil
		}
		return freePort()
	}}
	n, err := l.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil {
		t.Error(err)
	}
	if n.port == other.port || asked != 5 {
		t.Errorf("port %d after %d attempts, the other has %d", n.port, asked, other.port)
	}
	l.freePort = func() (int, error) { return other.port, nil }
	if _, err := l.start(t.Context()); err == nil || !strings.Contains(err.Error(), "the port was taken") {
		t.Errorf("every port taken: %v", err)
	}
}

// fakeServer is a program that stands in for redis-server.
func fakeServer(t *testing.T, script string) launcher {
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
	return launcher{k, program, freePort}
}

func TestAServerThatDiesTellsWhy(t *testing.T) {
	l := fakeServer(t, "echo it is too early >&2; exit 3")
	_, err := l.start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it is too early") || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAServerThatHangsIsEnded(t *testing.T) {
	l := fakeServer(t, "echo thinking; exec sleep 1000")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := l.start(ctx)
	if err == nil || !strings.Contains(err.Error(), "thinking") {
		t.Error(err)
	}
}

func TestAddressesArePrivate(t *testing.T) {
	for _, url := range startGroup(t, Local, Single).URLs() {
		if host, _, err := net.SplitHostPort(strings.TrimPrefix(url, "redis://")); err != nil || host != "127.0.0.1" {
			t.Errorf("%s: %v", url, err)
		}
	}
}
