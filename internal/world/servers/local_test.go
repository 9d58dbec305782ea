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
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	modules "lockbench/internal/world/builtin"
	"lockbench/internal/world/children"
)

// asHarness makes the test binary a harness that starts a deployment, says which processes and where, and waits
// to be killed.
const asHarness = "LOCKBENCH_TEST_AS_HARNESS"

// It is also a server of the stores that are Go modules.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == StoreVerb {
		if err := modules.Serve(context.Background(), os.Args[2:], os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	deployment := os.Getenv(asHarness)
	if deployment == "" {
		os.Exit(m.Run())
	}
	if err := beHarness(deployment); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func beHarness(deployment string) error {
	s := Spec{How: Local, Store: Redis, Deployment: deployment, Clock: clockSupported() == nil}
	g, err := Start(context.Background(), s)
	if err != nil {
		return err
	}
	nodes := []*redisNode{g.Nodes[0].(*redisNode)}
	if g.replicated != nil {
		nodes = append(g.replicated.nodes, g.replicated.sentinels...)
	}
	if runtime.GOOS == "linux" {
		if err := nodes[0].Pause(); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		fmt.Println(n.pid(), n.URL())
	}
	fmt.Println(0, "end")
	return nil
}

func (n *local) pid() int { return n.child.Load().Pid() }

// runs says whether a process runs; one that has ended and was not waited for does not.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err == nil && !strings.HasPrefix(string(state), "Z")
}

func TestNothingOutlivesAKilledHarness(t *testing.T) {
	for deployment, processes := range map[string]int{Single: 1, Sentinel: 6} {
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
			started := map[int]string{} // URLs by process
			for r := bufio.NewReader(out); ; {
				var pid int
				var url string
				if _, err := fmt.Fscan(r, &pid, &url); err != nil || url == "end" {
					break
				}
				started[pid] = url
				if !runs(pid) || !listens(t, url) {
					t.Errorf("process %d does not listen on %s", pid, url)
				}
			}
			if len(started) != processes {
				t.Errorf("%d processes, want %d", len(started), processes)
			}
			if err := harness.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = harness.Wait() // it was killed
			for pid, url := range started {
				eventually(t, "the server is gone", func() bool { return !runs(pid) && !listens(t, url) })
			}
			eventually(t, "its folders are gone", func() bool {
				left, err := os.ReadDir(tmp)
				return err == nil && len(left) == 0
			})
		})
	}
}

func TestStopEndsAPausedServer(t *testing.T) {
	n := startGroup(t, Local, Single).Nodes[0].(*redisNode)
	if err := n.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil || runs(n.pid()) {
		t.Errorf("runs: %t, %v", runs(n.pid()), err)
	}
}

func TestATakenPortIsNotTheEnd(t *testing.T) {
	other := startGroup(t, Local, Single).Nodes[0].(*redisNode) // it answers, but it is not our child
	k, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	asked := 0
	l := launcher{keeper: k, given: new(sync.Map), freePort: func() (int, error) {
		if asked++; asked < 5 {
			return other.ports[0], nil
		}
		return freePort()
	}}
	n, err := l.startRedis(t.Context(), 1, data(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil {
		t.Error(err)
	}
	if n.ports[0] == other.ports[0] || asked != 5 {
		t.Errorf("port %d after %d attempts, the other has %d", n.ports[0], asked, other.ports[0])
	}
	l.freePort = func() (int, error) { return other.ports[0], nil }
	if _, err := l.startRedis(t.Context(), 1, data(), nil); err == nil || !strings.Contains(err.Error(), "the port was taken") {
		t.Errorf("every port taken: %v", err)
	}
}

// fakeProduct is a program that stands in for a server, and never answers.
type fakeProduct struct {
	redisNode
	program string
}

func (f *fakeProduct) command() (*exec.Cmd, error) { return exec.Command(f.program), nil }

// startFake starts a script in the place of a server.
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
	_, err = start(ctx, launcher{keeper: k, given: new(sync.Map), freePort: freePort}, 1, upWithin, func(n *local) (*fakeProduct, product) {
		f := &fakeProduct{redisNode{local: n}, program}
		return f, f
	})
	return err
}

func TestAServerThatDiesTellsWhy(t *testing.T) {
	err := startFake(t, t.Context(), "echo it is too early >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "it is too early") || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAServerThatHangsIsEnded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := startFake(t, ctx, "echo thinking; exec sleep 1000")
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
