package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestKilledAgents kills the agents and the coordinator of a search in virtual time, each at a random time, and starts them again. The
// result must have the same bytes as that of a search without agents. The environment variable LOCKBENCH_KILLS is the number of
// agents that are killed; a fifth as many coordinators are killed.
func TestKilledAgents(t *testing.T) {
	kills, _ := strconv.Atoi(os.Getenv("LOCKBENCH_KILLS"))
	if kills == 0 {
		t.Skip("testdata/agent.txtar kills one of each; LOCKBENCH_KILLS=50 kills more")
	}
	dir := t.TempDir()
	search := []string{"explore", "--locks", "set-px-lua", "--seeds", strconv.Itoa(100 * kills), "--counterexamples", "1", "--json"}
	began := time.Now()
	alone := execute(t, dir, append(search, "--out", "alone")...)
	want, err := alone.wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("without agents: %s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "nats://" + l.Addr().String()
	l.Close()
	shared := []string{"--listen", at, "--agents-only"}
	coordinator := execute(t, dir, append(append(search, "--out", "shared"), shared...)...)
	var agents [2]*execution
	for i := range agents {
		agents[i] = execute(t, dir, "agent", "--join", at, "--slots", "1")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for killed := 1; killed <= kills; killed++ {
		time.Sleep(time.Duration(200+random.IntN(600)) * time.Millisecond)
		i := random.IntN(len(agents))
		agents[i].kill()
		agents[i] = execute(t, dir, "agent", "--join", at, "--slots", "1")
		if killed%5 == 0 {
			coordinator.kill()
			coordinator = execute(t, dir, append([]string{"explore", "--json", "--resume", "shared"}, shared...)...)
		}
	}
	journal, _ := os.Stat(filepath.Join(dir, "shared", "journal.jsonl"))
	if journal == nil {
		t.Error("the search ended before the kills did")
	}
	t.Logf("with kills: %s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	got, err := coordinator.wait()
	t.Logf("after the last kill: %s", time.Since(began).Round(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("after %d kills the search found\n%s\nwant\n%s", kills, got, want)
	}
}

// execution is a lockbench command that runs.
type execution struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{} // closed when the command has ended
	err            error
}

func execute(t *testing.T, dir string, args ...string) *execution {
	t.Helper()
	program, err := exec.LookPath("lockbench")
	if err != nil {
		t.Fatal(err)
	}
	e := &execution{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	e.cmd.Dir, e.cmd.Stdout, e.cmd.Stderr = dir, &e.stdout, &e.stderr
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		e.err = e.cmd.Wait()
		close(e.ended)
	}()
	t.Cleanup(e.kill)
	return e
}

// wait waits for the end of the command and returns its standard output.
func (e *execution) wait() ([]byte, error) {
	if <-e.ended; e.err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", e.cmd.Args, e.err, &e.stderr)
	}
	return e.stdout.Bytes(), nil
}

func (e *execution) kill() {
	_ = e.cmd.Process.Kill() // the error is that it has ended
	<-e.ended
}
