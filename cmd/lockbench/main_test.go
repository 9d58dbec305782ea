package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"lockbench/internal/cli"
	"lockbench/internal/cli/console"
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil { // run four tests at a time, because the tests mostly wait
		panic(err)
	}
	testscript.Main(m, map[string]func(){"lockbench": main, "sound-worker": soundWorker, "broken-worker": brokenWorker, "old-worker": oldWorker,
		"leaving-worker": leavingWorker})
}

// TestScripts runs testdata/*.txtar, which cover each lockbench command and each exit code.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			corpus, err := filepath.Abs("../../histories/corpus")
			env.Setenv("CORPUS", corpus)
			programs, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			env.Setenv("PROGRAMS", programs) // the folder that has only lockbench and the workers of these tests
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "appears": appears, "bench": makeBench, "forge": forge,
			"hostile": hostile, "tame": tame, "narrow": narrow, "port": port},
	})
}

// exits implements the script command "exits CODE PROGRAM ARGS...", which checks the exit code of a program. CODE may
// be a list, such as 0,3.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	got := 0
	var e *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &e) {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s\nstdout: %s\nstderr: %s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// forge implements the script command "forge PATTERN TEXT FROM TO". It copies the file FROM to the file TO and replaces
// the first match of PATTERN by TEXT.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: forge PATTERN TEXT FROM TO")
	}
	whole := ts.ReadFile(args[2])
	at := regexp.MustCompile(args[0]).FindStringIndex(whole)
	if at == nil {
		ts.Fatalf("%s has no %s", args[2], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(whole[:at[0]]+args[1]+whole[at[1]:]), 0o644))
}

// appears implements the script command "appears FILE BYTES", which waits until a file has at least that many bytes.
func appears(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() >= int64(size) {
			return
		}
	}
	ts.Fatalf("%s did not grow to %d bytes", args[0], size)
}

// TestInterrupted checks that an interrupted run still judges and reports the histories recorded so far.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel)
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, &stdout, &stderr, []string{"run", "--locks", "set-px-lua", "--workloads", "contend", "--no-controls",
		"--servers", "embedded", "--duration", "1m", "--out", dir})
	if code != console.ExitInterrupted {
		t.Fatalf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
	for _, file := range []string{"report/index.html", "results.json", "set-px-lua/contend+none/001/verdict.json"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(stdout.String(), "set-px-lua  yes") {
		t.Errorf("what was recorded is not in the table:\n%s", &stdout)
	}
}

func TestNoServerIsEnvironment(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), &stdout, &stderr, []string{"run", "--locks", "setnx", "--no-controls", "--workloads", "contend",
		"--servers", "local", "--out", filepath.Join(t.TempDir(), "run")})
	if code != console.ExitEnvironment || !strings.Contains(stderr.String(), "redis-server") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}
