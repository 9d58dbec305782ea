package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/cli"
	"lockbench/internal/cli/console"
)

// goneWithin is the maximum time for the cleanup after a run was killed.
const goneWithin = 20 * time.Second

// started is a lockbench run in a separate process. The test recognises the run's child processes by their environment
// or working directory.
type started struct {
	*testing.T
	cmd    *exec.Cmd
	dir    string // temporary folder of the test
	out    string // result folder of the run
	stderr bytes.Buffer
	ended  chan struct{} // closed when the process has ended
}

// start starts a lockbench run and returns when the run has written run.json.
func start(t *testing.T, args ...string) *started {
	t.Helper()
	return startTo(t, nil, args...)
}

// startTo is start with a file for the standard output. If it is nil, the output is discarded.
func startTo(t *testing.T, stdout *os.File, args ...string) *started {
	t.Helper()
	r := &started{T: t, dir: t.TempDir(), ended: make(chan struct{})}
	r.out = filepath.Join(r.dir, "out")
	program, err := exec.LookPath("lockbench") // the test binary, installed under the name lockbench
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.tmp(), 0o755); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(program, append(args, "--out", r.out)...)
	r.cmd.Env, r.cmd.Dir = append(os.Environ(), "TMPDIR="+r.tmp()), r.dir
	r.cmd.Stderr = &r.stderr
	if stdout != nil {
		r.cmd.Stdout = stdout
	}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.ended) }()
	t.Cleanup(r.end)
	r.waitUntil(30*time.Second, "begins", func() string {
		if !exists(filepath.Join(r.out, "run.json")) {
			return "there is no run.json"
		}
		return ""
	})
	return r
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (r *started) tmp() string { return filepath.Join(r.dir, "tmp") }

// end kills the processes that a failed test has left running.
func (r *started) end() {
	for _, pid := range append(r.processes(), r.cmd.Process.Pid) {
		select {
		case <-r.ended:
			if pid == r.cmd.Process.Pid {
				continue // the process has ended, and its id may have been reused
			}
		default:
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-r.ended
}

// waitUntil waits until the parameter wrong, a function, returns "". Any other result of wrong is a sentence about the
// condition that is not yet met. The test fails if the waiting takes longer than the parameter bound.
func (r *started) waitUntil(bound time.Duration, what string, wrong func() string) {
	r.Helper()
	for deadline := time.Now().Add(bound); ; time.Sleep(50 * time.Millisecond) {
		why := wrong()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("it was not seen within %v that it %s: %s\n%s", bound, what, why, &r.stderr)
		}
	}
}

// processes returns the ids of the running processes of the run, including child processes.
func (r *started) processes() []int {
	var all []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !r.owns(pid) {
			continue
		}
		all = append(all, pid)
	}
	return all
}

// owns reports whether a process belongs to the run. It checks the environment and, because redis-server overwrites its
// environment, also the working directory.
func (r *started) owns(pid int) bool {
	at := fmt.Sprintf("/proc/%d/", pid)
	stat, _ := os.ReadFile(at + "stat")
	if _, rest, ok := strings.Cut(string(stat), ") "); !ok || rest[0] == 'Z' || rest[0] == 'X' {
		return false
	}
	environ, _ := os.ReadFile(at + "environ")
	cwd, _ := os.Readlink(at + "cwd")
	return bytes.Contains(environ, []byte("TMPDIR="+r.tmp()+"\x00")) || strings.HasPrefix(cwd, r.dir)
}

// listening returns the inodes of the sockets on which at least one of the processes listens. The inode of a socket
// stays the same if a child process inherits the socket.
func listening(pids []int) map[string]bool {
	all := map[string]bool{}
	open := socketsListening()
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, f := range files {
			name, _ := os.Readlink(f)
			if number, ok := strings.CutPrefix(name, "socket:["); ok && open[strings.TrimSuffix(number, "]")] {
				all[strings.TrimSuffix(number, "]")] = true
			}
		}
	}
	return all
}

func socketsListening() map[string]bool {
	all := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			const listen = "0A"
			if f := strings.Fields(line); len(f) > 9 && f[3] == listen {
				all[f[9]] = true
			}
		}
	}
	return all
}

// nothingLeft waits until the run has left no process, no listening socket and no temporary folder.
func (r *started) nothingLeft(listened map[string]bool) {
	r.Helper()
	r.waitUntil(goneWithin, "leaves nothing", func() string {
		for _, pid := range r.processes() {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return fmt.Sprintf("process %d lives: %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
		for number := range socketsListening() {
			if listened[number] {
				return "somebody still listens where one of its processes did"
			}
		}
		for _, e := range must(os.ReadDir(r.tmp())) {
			return "there is " + e.Name()
		}
		return ""
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// judged checks that lockbench can judge and report all histories of the run. It returns the number of histories.
func (r *started) judged() int {
	r.Helper()
	var files []string
	err := filepath.WalkDir(r.out, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "history.jsonl.zst" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range files {
		var stdout, stderr bytes.Buffer
		if code := cli.Run(r.Context(), &stdout, &stderr, []string{"check", f}); code == console.ExitInternal || code == console.ExitUsage {
			r.Errorf("check %s: exit code %d\n%s%s", f, code, &stdout, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := cli.Run(r.Context(), &stdout, &stderr, []string{"report", r.out}); code != 0 {
		r.Errorf("report: exit code %d\n%s", code, &stderr)
	}
	return len(files)
}

// The variable everything holds the command-line arguments of a lockbench run with pauses, kills and restarts, on
// several deployments.
var everything = []string{"run", "--scenarios", "gc-pause,crashed-holder-blocks,restarted-server-forgets,failover-loses-lock", "--jobs", "2"}

// TestKilled checks a run that is killed at a random time. The run must leave no process, port or temporary folder,
// even if workers and servers are paused. The histories of the run must still be readable.
func TestKilled(t *testing.T) {
	t.Parallel() // the test mostly waits
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("LOCKBENCH_KILLS"), "3"))
	if err != nil {
		t.Fatal(err)
	}
	histories, most, sockets := 0, 0, 0
	for seed := range uint64(kills) {
		chance := rand.New(rand.NewPCG(seed, 7))
		after := 500*time.Millisecond + time.Duration(chance.Int64N(int64(5500*time.Millisecond)))
		t.Run(fmt.Sprintf("after %v", after.Round(time.Millisecond)), func(t *testing.T) {
			r := start(t, everything...)
			time.Sleep(after)
			alive := r.processes()
			listened := listening(alive)
			most, sockets = max(most, len(alive)), max(sockets, len(listened))
			if seed%2 == 1 {
				r.pauseSome(chance)
			}
			if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-r.ended
			r.nothingLeft(listened)
			histories += r.judged()
		})
	}
	t.Logf("%d kills, %d histories, up to %d processes and %d ports at once", kills, histories, most, sockets)
	if most < 5 || sockets == 0 || histories == 0 {
		t.Error("the test shows little")
	}
}

// pauseSome pauses each worker and each server of the run with probability 1/2.
func (r *started) pauseSome(chance *rand.Rand) {
	for _, pid := range r.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if stops := bytes.Contains(line, []byte("worker")) || bytes.Contains(line, []byte("redis-server")); stops && chance.IntN(2) == 0 {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // an error means that the process has ended
		}
	}
}

// TestCtrlC checks that an interrupted run reports its results and leaves no process or folder behind.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	r := start(t, everything...)
	time.Sleep(3 * time.Second)
	listened := listening(r.processes())
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.ended:
	case <-time.After(time.Minute):
		t.Fatalf("it did not end\n%s", &r.stderr)
	}
	if code := r.cmd.ProcessState.ExitCode(); code != console.ExitInterrupted {
		t.Errorf("exit code %d\n%s", code, &r.stderr)
	}
	for _, file := range []string{"results.json", "report/index.html"} {
		if !exists(filepath.Join(r.out, file)) {
			t.Errorf("there is no %s", file)
		}
	}
	r.nothingLeft(listened)
	if r.judged() == 0 {
		t.Error("nothing was recorded")
	}
}

// fullPipe returns a pipe to which a write blocks.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = w.Write([]byte("\n"))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return w
}

// TestSecondCtrlC checks that a second interrupt ends a run at once. The run must leave no process or folder behind. Its output is
// not read, so that it cannot end before the second interrupt.
func TestSecondCtrlC(t *testing.T) {
	t.Parallel()
	r := startTo(t, fullPipe(t), everything...)
	r.waitUntil(30*time.Second, "has servers", func() string {
		if len(listening(r.processes())) == 0 {
			return "no process listens"
		}
		return ""
	})
	listened := listening(r.processes())
	for range 2 {
		if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // wait between the interrupts, because two pending signals would be delivered as one
	}
	select {
	case <-r.ended:
	case <-time.After(5 * time.Second):
		t.Fatalf("it did not end\n%s", &r.stderr)
	}
	if code := r.cmd.ProcessState.ExitCode(); code != console.ExitInterrupted {
		t.Errorf("exit code %d\n%s", code, &r.stderr)
	}
	r.nothingLeft(listened)
}

// TestTwoAtOnce checks that two runs at the same time in the same folder do not disturb each other.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	ways := []string{"embedded"}
	if missing, err := condition("missing:redis-server"); err != nil {
		t.Fatal(err)
	} else if !missing {
		ways = append(ways, "local")
	}
	for _, how := range ways {
		t.Run(how, func(t *testing.T) {
			program := must(exec.LookPath("lockbench"))
			dir := t.TempDir()
			var both [2]*exec.Cmd
			var said [2]bytes.Buffer
			for i := range both {
				both[i] = exec.CommandContext(t.Context(), program, "run", "--servers", how, "--locks", "set-px-lua,redisson", "--workloads", "counter",
					"--faults", "none,holder-kill", "--trials", "1", "--duration", "300ms")
				both[i].Dir, both[i].Stderr = dir, &said[i]
				if err := both[i].Start(); err != nil {
					t.Fatal(err)
				}
			}
			for i, cmd := range both {
				switch err := cmd.Wait(); {
				case strings.Contains(said[i].String(), "was paused"):
					t.Skip("this machine is too busy to tell")
				case err != nil:
					t.Errorf("%v\n%s", err, &said[i])
				}
			}
			folders := must(filepath.Glob(filepath.Join(dir, "runs", "*", "results.json")))
			folders = slices.DeleteFunc(folders, func(f string) bool { return strings.Contains(f, "latest") })
			if len(folders) != len(both) {
				t.Errorf("the results are in %v", folders)
			}
		})
	}
}
