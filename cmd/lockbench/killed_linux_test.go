package main

import (
	"bytes"
	"cmp"
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

// goneWithin bounds the end of what a killed run started: a keeper waits for a second before it removes folders.
const goneWithin = 20 * time.Second

// started is a run in a process of its own, as a user starts it, and in a world of its own: whatever it starts has
// its folder for temporary files in the environment, or is at work in there.
type started struct {
	*testing.T
	cmd    *exec.Cmd
	dir    string // of its own
	out    string // the run's folder
	stderr bytes.Buffer
	ended  chan struct{} // closed when it has
}

// start starts lockbench and returns when it has begun: what is known before the first trial is written.
func start(t *testing.T, args ...string) *started {
	t.Helper()
	r := &started{T: t, dir: t.TempDir(), ended: make(chan struct{})}
	r.out = filepath.Join(r.dir, "out")
	program, err := exec.LookPath("lockbench") // this program, under its own name
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.tmp(), 0o755); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(program, append(args, "--out", r.out)...)
	r.cmd.Env, r.cmd.Dir = append(os.Environ(), "TMPDIR="+r.tmp()), r.dir
	r.cmd.Stderr = &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.ended) }()
	t.Cleanup(r.end)
	r.within(30*time.Second, "begins", func() string {
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

// end ends what a test that failed has left.
func (r *started) end() {
	for _, pid := range append(r.processes(), r.cmd.Process.Pid) {
		select {
		case <-r.ended:
			if pid == r.cmd.Process.Pid {
				continue // the number may be another's by now
			}
		default:
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-r.ended
}

// within waits until something is no longer wrong.
func (r *started) within(bound time.Duration, what string, wrong func() string) {
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

// processes are those of the run that live: the program, its workers, servers, keepers, and whatever they start.
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

// owns reports whether a process is of the run. A redis-server writes over its environment, and is at work in a
// folder of its own.
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

// listening are the sockets of processes at which somebody can connect, by their numbers in the kernel: whoever
// has inherited one still has it.
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

// nothingLeft waits until no process of the run lives, nothing listens where one did, and no temporary folder
// is left.
func (r *started) nothingLeft(listened map[string]bool) {
	r.Helper()
	r.within(goneWithin, "leaves nothing", func() string {
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

// judged checks that every history can be judged as far as it goes, and that the page can be made. It returns how
// many histories there are.
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

// everything is a run with pauses, kills and restarts in it, and servers of every kind.
var everything = []string{"run", "--scenarios", "gc-pause,crashed-holder-blocks,restarted-server-forgets,failover-loses-lock", "--jobs", "2"}

// TestKilled: a run that is killed at any moment leaves no process, no port and no temporary folder, also where its
// workers and servers are paused, and what it has recorded can be judged and reported.
func TestKilled(t *testing.T) {
	t.Parallel() // it waits, mostly
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
				r.standStill(chance)
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

// standStill stops workers and servers of the run, each by chance.
func (r *started) standStill(chance *rand.Rand) {
	for _, pid := range r.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if stops := bytes.Contains(line, []byte("worker")) || bytes.Contains(line, []byte("redis-server")); stops && chance.IntN(2) == 0 {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // it may be gone by now
		}
	}
}

// TestCtrlC: a run that is interrupted reports what it has, and leaves as little.
func TestCtrlC(t *testing.T) {
	t.Parallel() // it waits, mostly
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

// TestSecondCtrlC: a second interrupt ends a run at once, and leaves as little.
func TestSecondCtrlC(t *testing.T) {
	t.Parallel() // it waits, mostly
	r := start(t, everything...)
	r.within(30*time.Second, "has servers", func() string {
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
		time.Sleep(100 * time.Millisecond) // two signals that are pending at once are one
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

// TestTwoAtOnce: two runs begun at the same moment in the same folder do not disturb each other.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel() // it waits, mostly
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
					"--faults", "none,holder-kill", "--duration", "300ms")
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
