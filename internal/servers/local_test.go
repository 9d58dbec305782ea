//go:build unix

package servers

import (
	"bufio"
	"context"
	"fmt"
	"io"
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
	k, err := newKeeper()
	if err != nil {
		return err
	}
	n, err := launcher{k, redisProgram, freePort}.start(context.Background())
	if err != nil {
		return err
	}
	_, err = fmt.Println(n.pid(), k.script.cmd.Process.Pid, n.dir, n.URL())
	return err
}

func (n *local) pid() int { return n.child.cmd.Process.Pid }

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

// harness is another process that started a server.
type harness struct {
	*exec.Cmd
	server, keeper int // process numbers
	dir, url       string
}

func startHarness(t *testing.T) harness {
	t.Helper()
	needRedis(t)
	t.Setenv("TMPDIR", t.TempDir())
	h := harness{Cmd: exec.Command(os.Args[0])}
	h.Env = append(os.Environ(), asHarness+"=1")
	h.Stderr = os.Stderr
	out, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fscan(bufio.NewReader(out), &h.server, &h.keeper, &h.dir, &h.url)
	if err != nil || !runs(h.server) || !runs(h.keeper) || !exists(h.dir) || !listens(t, h.url) {
		t.Errorf("the harness did not start a server: %+v, %v", h, err)
	}
	return h
}

func (h harness) die(t *testing.T) {
	t.Helper()
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.Wait() // it was killed
	eventually(t, "the server is gone", func() bool { return !runs(h.server) && !listens(t, h.url) })
}

func TestNothingOutlivesAKilledHarness(t *testing.T) {
	h := startHarness(t)
	h.die(t)
	eventually(t, "its folder is gone", func() bool { return !exists(h.dir) })
	eventually(t, "the keeper is gone", func() bool { return !runs(h.keeper) })
}

func TestServersDieWithTheHarnessEvenWithoutAKeeper(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux a process can ask to die with its parent")
	}
	h := startHarness(t)
	if err := syscall.Kill(h.keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.die(t)
}

func TestServersOutliveTheThreadThatAskedForThem(t *testing.T) {
	needRedis(t)
	t.Setenv("TMPDIR", t.TempDir())
	groups := make([]*Group, 3) // the main thread never ends, so one might prove nothing
	var all sync.WaitGroup
	for i := range groups {
		all.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			g, err := Start(t.Context(), Spec{How: Local, Store: Redis})
			if err != nil {
				t.Error(err)
				return
			}
			groups[i] = g
		})
	}
	all.Wait()
	for _, g := range groups {
		if g == nil {
			continue
		}
		if n := g.Nodes[0].(*local); n.child.ended(100 * time.Millisecond) { // a thread ends a little after its goroutine
			t.Errorf("the server died with a thread: %v", n.child.cmd.ProcessState)
		}
		_ = g.Stop()
	}
}

func TestServersDoNotHearTheTerminal(t *testing.T) {
	n := startGroup(t, Local, Single).Nodes[0].(*local)
	k, err := newKeeper()
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	for _, pid := range []int{n.pid(), k.script.cmd.Process.Pid} {
		if group, err := syscall.Getpgid(pid); err != nil || group != pid {
			t.Errorf("process group %d, want its own, %d (%v)", group, pid, err)
		}
	}
}

func TestStopEndsAPausedServer(t *testing.T) {
	n := startGroup(t, Local, Single).Nodes[0].(*local)
	if err := syscall.Kill(n.pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil || runs(n.pid()) {
		t.Errorf("runs: %t, %v", runs(n.pid()), err)
	}
}

// sleeper starts a process that does nothing.
func sleeper(t *testing.T, k *keeper) *child {
	t.Helper()
	c, err := k.start(exec.Command("sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.kill() })
	return c
}

func TestKeeperEndsWhatIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "with a space"))
	if err := os.Mkdir(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := newKeeper()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := k.folder()
	if err != nil {
		t.Fatal(err)
	}
	left := sleeper(t, k)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := k.script.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	// Only the script: to close the keeper would end the thread too, and with it the child.
	if err := k.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the keeper ends", func() bool { return k.script.ended(0) })
	if !left.ended(endWithin) || exists(dir) {
		t.Errorf("process ended: %t, folder exists: %t", left.ended(0), exists(dir))
	}
	if state := k.script.cmd.ProcessState; !state.Success() {
		t.Errorf("the keeper: %v", state)
	}
	close(k.starts)
}

func TestKeeperSparesWhatItIsToForget(t *testing.T) {
	k, err := newKeeper()
	if err != nil {
		t.Fatal(err)
	}
	spared, left := sleeper(t, k), sleeper(t, k)
	if err := k.tell("forget", fmt.Sprint(spared.cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if err := k.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if !left.ended(endWithin) || !k.script.ended(endWithin) {
		t.Error("the keeper left a process that it was not told to forget")
	}
	if spared.ended(0) {
		t.Error("the keeper killed a process that it was told to forget")
	}
	close(k.starts)
}

func TestKeeperIsToldOfEachEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := &keeper{pipe: w, starts: make(chan func())}
	go k.startAll()
	defer close(k.starts)
	c, err := k.start(exec.Command("true"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.ended(endWithin) {
		t.Fatal("it goes on")
	}
	w.Close()
	told, err := io.ReadAll(r)
	pid := c.cmd.Process.Pid
	if want := fmt.Sprintf("kill %d\nforget %d\n", pid, pid); string(told) != want || err != nil {
		t.Errorf("told %q, want %q (%v)", told, want, err)
	}
}

func TestATakenPortIsNotTheEnd(t *testing.T) {
	other := startGroup(t, Local, Single).Nodes[0].(*local) // it answers, but it is not our child
	k, err := newKeeper()
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
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
	k, err := newKeeper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.close() })
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
