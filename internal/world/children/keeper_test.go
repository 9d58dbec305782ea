//go:build unix

package children

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestKeeperKillsListedGroups(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "with a space"))
	if err := os.Mkdir(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := k.Folder()
	if err != nil {
		t.Fatal(err)
	}
	left := sleeper(t, k)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := k.script.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	// Do not call k.Close. It would end the thread that started the child, and the child would die with it. Closing the
	// pipe ends only the script.
	if err := k.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the keeper ends", func() bool { return k.script.endsWithin(0) })
	if !left.endsWithin(killTimeout) || exists(dir) {
		t.Errorf("process ended: %t, folder exists: %t", left.endsWithin(0), exists(dir))
	}
	if state := k.script.cmd.ProcessState; !state.Success() {
		t.Errorf("state of the keeper: %v", state)
	}
	close(k.gone)
}

func TestKeeperForgets(t *testing.T) {
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	spared, left := sleeper(t, k), sleeper(t, k)
	if err := k.tell("forget", fmt.Sprint(spared.Pid())); err != nil {
		t.Fatal(err)
	}
	if err := k.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if !left.endsWithin(killTimeout) || !k.script.endsWithin(killTimeout) {
		t.Error("a process on the keeper's list still runs")
	}
	if spared.endsWithin(0) {
		t.Error("the keeper killed a forgotten process")
	}
	close(k.gone)
}

func TestKeeperLearnsOfExits(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := &Keeper{pipe: w, starts: make(chan func()), gone: make(chan struct{})}
	go k.runStarts()
	defer close(k.gone)
	c, err := k.Start(exec.Command("true"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.endsWithin(killTimeout) {
		t.Fatal("Start succeeded")
	}
	w.Close()
	told, err := io.ReadAll(r)
	pid := c.Pid()
	if want := fmt.Sprintf("kill %d\nforget %d\n", pid, pid); string(told) != want || err != nil {
		t.Errorf("requests %q, want %q (%v)", told, want, err)
	}
}
