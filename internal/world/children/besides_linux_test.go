package children

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// startApart starts a child that has started a process with a group of its own.
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

// TestWhatHasLeftTheGroup: a server whose processes have groups of their own stands still, goes on and ends as a whole.
func TestWhatHasLeftTheGroup(t *testing.T) {
	c, apart := startApart(t, keeper(t))
	if group, err := syscall.Getpgid(apart); err != nil || group != apart {
		t.Fatalf("it is in the group %d, %v: want its own", group, err)
	}
	for range 2 {
		if err := c.Pause(); err != nil || state(apart) != "T" {
			t.Fatalf("paused, it is in the state %q: %v", state(apart), err)
		}
		if err := c.Resume(); err != nil || state(apart) == "T" {
			t.Fatalf("resumed, it is in the state %q: %v", state(apart), err)
		}
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil || runs(apart) {
		t.Errorf("killed, it is in the state %q: %v", state(apart), err)
	}
}

// TestKeeperEndsWhatStandsStillApart: it would not notice that its leader has died.
func TestKeeperEndsWhatStandsStillApart(t *testing.T) {
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
	for end := time.Now().Add(20 * time.Second); runs(apart); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is in the state %q", state(apart))
		}
	}
}

// TestKillAwaitsTheGroup: when Kill returns, no process of the child's own group lives either. One that is still ending
// would keep what they share, such as the memory of a PostgreSQL that is started again.
func TestKillAwaitsTheGroup(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; echo ready; wait")
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
