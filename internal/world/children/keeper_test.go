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

func TestKeeperEndsWhatIsLeft(t *testing.T) {
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
	close(k.gone)
}

func TestKeeperSparesWhatItIsToForget(t *testing.T) {
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
	if !left.ended(endWithin) || !k.script.ended(endWithin) {
		t.Error("the keeper left a process that it was not told to forget")
	}
	if spared.ended(0) {
		t.Error("the keeper killed a process that it was told to forget")
	}
	close(k.gone)
}

func TestKeeperIsToldOfEachEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := &Keeper{pipe: w, starts: make(chan func()), gone: make(chan struct{})}
	go k.startAll()
	defer close(k.gone)
	c, err := k.Start(exec.Command("true"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.ended(endWithin) {
		t.Fatal("it goes on")
	}
	w.Close()
	told, err := io.ReadAll(r)
	pid := c.Pid()
	if want := fmt.Sprintf("kill %d\nforget %d\n", pid, pid); string(told) != want || err != nil {
		t.Errorf("told %q, want %q (%v)", told, want, err)
	}
}
