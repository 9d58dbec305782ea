package children

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// startApart starts a child that starts a process in another process group. It returns the child and the ID of this
// process.
func startApart(t *testing.T, k *Keeper) (c *Child, apart int) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' & wait")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	c, err = k.Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Kill() })
	if _, err := fmt.Fscanln(r, &apart); err != nil {
		t.Fatal(err)
	}
	return c, apart
}

// TestOtherGroups checks that processes in other groups are paused, resumed and killed together with the child.
func TestOtherGroups(t *testing.T) {
	c, apart := startApart(t, keeper(t))
	if group, err := syscall.Getpgid(apart); err != nil || group != apart {
		t.Fatalf("group %d, %v: want a group other than the child's", group, err)
	}
	for range 2 {
		if err := c.Pause(); err != nil || state(apart) != "T" {
			t.Fatalf("state after Pause: %q, %v", state(apart), err)
		}
		if err := c.Resume(); err != nil || state(apart) == "T" {
			t.Fatalf("state after Resume: %q, %v", state(apart), err)
		}
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil || isRunning(apart) {
		t.Errorf("state after Kill: %q, %v", state(apart), err)
	}
}

// TestKeeperKillsPausedGroup checks that the keeper kills a paused process group. Paused processes cannot notice that the
// leader of the group has died.
func TestKeeperKillsPausedGroup(t *testing.T) {
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	c, apart := startApart(t, k)
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); isRunning(apart); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("state %q, want T", state(apart))
		}
	}
}

// TestKillAwaitsTheGroup checks that Kill returns only after all processes of the child's process group have ended.
// A process that is still exiting may hold resources that a restarted server needs, such as shared memory.
func TestKillAwaitsTheGroup(t *testing.T) {
	// When the script prints "ready", tail holds 100 MB of memory, so it exits more slowly than the other processes.
	cmd := exec.Command("/bin/sh", "-c", "head -c 100000000 /dev/zero | tail -c 100000000 | { head -c 1 >/dev/null; echo ready; sleep 1000; }")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c, err := keeper(t).Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, new(string)); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if left, err := familyOf(c.Pid()); err != nil || len(left) > 0 {
		t.Errorf("%d processes are left, %v", len(left), err)
	}
}
