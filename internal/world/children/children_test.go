//go:build unix

package children

import (
	"bufio"
	"fmt"
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

// asHarness is the environment variable that makes the test binary start a child, print its process ID and wait.
const asHarness = "LOCKBENCH_TEST_AS_HARNESS"

func TestMain(m *testing.M) {
	how := os.Getenv(asHarness)
	if how == "" {
		os.Exit(m.Run())
	}
	if err := beHarness(how); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.Sleep(time.Hour) // without cgo, the runtime would report select {} as a deadlock
}

func beHarness(how string) error {
	k, err := New()
	if err != nil {
		return err
	}
	dir, err := k.Folder()
	if err != nil {
		return err
	}
	f, err := startFamily(k)
	if err != nil {
		return err
	}
	if how == "paused" {
		if err := f.Pause(); err != nil {
			return err
		}
	}
	_, err = fmt.Println(f.Pid(), f.grandchild, k.script.Pid(), dir)
	return err
}

// family holds a child and a process that the child started.
type family struct {
	*Child
	grandchild int
}

func startFamily(k *Keeper) (family, error) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
	r, w, err := os.Pipe()
	if err != nil {
		return family{}, err
	}
	defer r.Close()
	defer w.Close()
	cmd.Stdout = w
	c, err := k.Start(cmd)
	if err != nil {
		return family{}, err
	}
	f := family{Child: c}
	_, err = fmt.Fscanln(r, &f.grandchild)
	return f, err
}

// keeper returns a new Keeper. At the end of the test, the Keeper is closed, which kills its child processes.
func keeper(t *testing.T) *Keeper {
	t.Helper()
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func newFamily(t *testing.T) family {
	t.Helper()
	f, err := startFamily(keeper(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Kill() })
	return f
}

// sleeper starts a process that only sleeps.
func sleeper(t *testing.T, k *Keeper) *Child {
	t.Helper()
	c, err := k.Start(exec.Command("sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Kill() })
	return c
}

// state returns the first letter of the process state that ps shows. It returns "" if there is no such process.
func state(pid int) string {
	says, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	if err != nil || len(says) == 0 {
		return ""
	}
	return string(says[:1])
}

// isRunning reports whether a process exists and is not a zombie. A paused process counts as running.
func isRunning(pid int) bool { s := state(pid); return s != "" && s != "Z" }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// waitUntil waits until a condition holds. After a timeout it fails the test.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
}

// harness is a test program that has started a child, a grandchild and a keeper. At the end, the keeper kills the child
// and the grandchild. The fields hold the process IDs.
type harness struct {
	*exec.Cmd
	child, grandchild, keeper int // process IDs
	dir                       string
}

func startHarness(t *testing.T, how string) harness {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	h := harness{Cmd: exec.Command(os.Args[0])}
	h.Env = append(os.Environ(), asHarness+"="+how)
	h.Stderr = os.Stderr
	out, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fscan(bufio.NewReader(out), &h.child, &h.grandchild, &h.keeper, &h.dir)
	if err != nil || !isRunning(h.child) || !isRunning(h.grandchild) || !isRunning(h.keeper) || !exists(h.dir) {
		t.Errorf("the harness did not start a child: %+v, %v", h, err)
	}
	return h
}

func (h harness) die(t *testing.T) {
	t.Helper()
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.Wait() // ignore the error; the process was killed
	waitUntil(t, "the child is gone", func() bool { return !isRunning(h.child) })
}

func TestKilledHarnessLeavesNothing(t *testing.T) {
	for _, how := range []string{"running", "paused"} {
		t.Run(how, func(t *testing.T) {
			if how == "paused" {
				onLinux(t)
			}
			h := startHarness(t, how)
			if got := state(h.child) == "T" && state(h.grandchild) == "T"; got != (how == "paused") {
				t.Errorf("states %s and %s", state(h.child), state(h.grandchild))
			}
			h.die(t)
			waitUntil(t, "what the child started is gone", func() bool { return !isRunning(h.grandchild) })
			waitUntil(t, "its folder is gone", func() bool { return !exists(h.dir) })
			waitUntil(t, "the keeper is gone", func() bool { return !isRunning(h.keeper) })
		})
	}
}

func TestChildrenDieWithHarnessWithoutKeeper(t *testing.T) {
	onLinux(t) // only Linux can kill a child when the thread that started it ends
	h := startHarness(t, "running")
	// This test kills the keeper, which would kill the descendants of the child. So kill them here.
	defer syscall.Kill(-h.child, syscall.SIGKILL)
	if err := syscall.Kill(h.keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.die(t)
}

func TestChildrenOutliveStartingThread(t *testing.T) {
	keepers := []*Keeper{keeper(t), keeper(t), keeper(t)}
	// Use several goroutines. At least one of their threads must end, but the main thread never ends.
	started := make([]*Child, len(keepers))
	var all sync.WaitGroup
	for i, k := range keepers {
		all.Go(func() {
			runtime.LockOSThread() // without UnlockOSThread, the thread ends with the goroutine
			c, err := k.Start(exec.Command("sleep", "1000"))
			if err != nil {
				t.Error(err)
				return
			}
			started[i] = c
		})
	}
	all.Wait()
	for _, c := range started {
		if c == nil {
			continue
		}
		if c.endsWithin(100 * time.Millisecond) { // a thread ends slightly later than its goroutine
			t.Errorf("the child died with the thread that called Start: %s", c.State())
		}
		_ = c.Kill()
	}
}

func TestChildrenIgnoreTerminalSignals(t *testing.T) {
	k := keeper(t)
	for _, pid := range []int{sleeper(t, k).Pid(), k.script.Pid()} {
		if group, err := syscall.Getpgid(pid); err != nil || group != pid {
			t.Errorf("process group %d, want the child's number, %d (%v)", group, pid, err)
		}
	}
}

func TestPauseStopsWholeGroup(t *testing.T) {
	onLinux(t)
	f := newFamily(t)
	for range 2 { // repeat the pause and the resume
		for range 2 { // a second call must change nothing
			if err := f.Pause(); err != nil {
				t.Fatal(err)
			}
		}
		if state(f.Pid()) != "T" || state(f.grandchild) != "T" {
			t.Errorf("states after Pause: %s and %s", state(f.Pid()), state(f.grandchild))
		}
		for range 2 {
			if err := f.Resume(); err != nil {
				t.Fatal(err)
			}
		}
		if state(f.Pid()) == "T" || state(f.grandchild) == "T" {
			t.Errorf("states after Resume: %s and %s", state(f.Pid()), state(f.grandchild))
		}
	}
	if f.State() != "running" {
		t.Error(f.State())
	}
}

func TestKillPausedGroup(t *testing.T) {
	onLinux(t)
	f := newFamily(t)
	if err := f.Pause(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if f.State() != "signal: killed" {
		t.Error(f.State())
	}
	waitUntil(t, "what it started is gone", func() bool { return !isRunning(f.grandchild) })
	for _, do := range []func() error{f.Pause, f.Resume} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "has ended (signal: killed)") {
			t.Errorf("signal to a dead child: %v", err)
		}
	}
}

func TestStopKillsAfterTimeout(t *testing.T) {
	onLinux(t)
	f := newFamily(t)
	if err := f.Pause(); err != nil {
		t.Fatal(err)
	}
	asked := false
	if err := f.Stop(func() error { asked = true; return syscall.Kill(f.Pid(), syscall.SIGTERM) }); err != nil || !asked {
		t.Errorf("asked: %t, %v", asked, err)
	}
	if f.State() != "signal: killed" {
		t.Error(f.State())
	}
}

func TestDescendantsEndWithChild(t *testing.T) {
	f := newFamily(t)
	if err := syscall.Kill(f.Pid(), syscall.SIGKILL); err != nil { // kill only the child, not the rest of its process group
		t.Fatal(err)
	}
	waitUntil(t, "what it started is gone", func() bool { return !isRunning(f.grandchild) })
}

func TestState(t *testing.T) {
	c, err := keeper(t).Start(exec.Command("/bin/sh", "-c", "exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(killTimeout):
		t.Fatal("Start succeeded")
	}
	if c.State() != "exit status 3" {
		t.Error(c.State())
	}
}

func TestStartAfterClose(t *testing.T) {
	k := keeper(t)
	for range 2 {
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Start(exec.Command("sleep", "1000")); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	if _, err := k.Folder(); err == nil {
		t.Error("Folder succeeded, although the keeper cannot remove it")
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("%s%d-*", folderPrefix, os.Getpid()))); len(left) > 0 {
		t.Errorf("folders left: %v", left)
	}
}
