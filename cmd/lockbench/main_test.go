package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lockbench": main, "sound-worker": soundWorker, "broken-worker": brokenWorker, "on-one": onOneAgain})
}

// TestScripts runs the command as a user does: testdata/*.txtar, each verb and each exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			corpus, err := filepath.Abs("../../histories/corpus")
			env.Setenv("CORPUS", corpus)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "appears": appears, "bench": makeBench, "forge": forge},
	})
}

// exits CODE PROGRAM ARGS... runs a program that must exit with that code, or with one of several: 0,3.
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

// appears FILE BYTES waits, within a bound, until a file has so many bytes.
// forge copies a file with the first match of a pattern replaced: forge PATTERN TEXT FROM TO.
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

// TestInterrupted: a run that is interrupted is judged and reported as far as it got.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel)
	var stdout, stderr bytes.Buffer
	code := lockbench(ctx, &stdout, &stderr, []string{"run", "--locks", "set-px-lua", "--workloads", "contend", "--no-controls",
		"--servers", "embedded", "--duration", "1m", "--out", dir})
	if code != exitInterrupted {
		t.Fatalf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
	for _, file := range []string{"report/index.html", "results.json", "set-px-lua/contend+none/001/verdict.json"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(stdout.String(), "mutual-exclusion") {
		t.Errorf("what was recorded is not in the table:\n%s", &stdout)
	}
}

// TestNewFolder: runs that begin at the same moment have folders of their own.
func TestNewFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	var all sync.WaitGroup
	dirs := make([]string, 20)
	for i := range dirs {
		all.Go(func() {
			var err error
			if dirs[i], err = newFolder("now"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.Sort(dirs)
	if len(slices.Compact(dirs)) != 20 {
		t.Errorf("two runs share a folder: %v", dirs)
	}
}

func TestNoServerIsEnvironment(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	code := lockbench(t.Context(), &stdout, &stderr, []string{"run", "--locks", "setnx", "--no-controls", "--workloads", "contend",
		"--servers", "local", "--out", filepath.Join(t.TempDir(), "run")})
	if code != exitEnvironment || !strings.Contains(stderr.String(), "redis-server") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

func TestPanicIsInternal(t *testing.T) {
	var stderr bytes.Buffer
	cmd := &cobra.Command{Run: func(*cobra.Command, []string) { panic("a bug") }}
	cmd.SetErr(&stderr)
	cmd.SetArgs(nil)
	if code := execute(t.Context(), cmd); code != exitInternal || !strings.Contains(stderr.String(), "a bug") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

func TestGravestCodeWins(t *testing.T) {
	for _, c := range []struct {
		found codes
		want  int
	}{
		{codes{exitBroken: true, exitMissed: true}, exitBroken}, {codes{exitUndecided: true, exitMissed: true}, exitMissed},
		{codes{exitInterrupted: true, exitInternal: true}, exitInterrupted}, {codes{exitInternal: true, exitBroken: true}, exitInternal},
	} {
		var e *exit
		if err := c.found.exit(); !errors.As(err, &e) || e.code != c.want {
			t.Errorf("%v: %v, want %d", c.found, err, c.want)
		}
	}
	if err := (codes{0: true}).exit(); err != nil {
		t.Errorf("nothing found: %v", err)
	}
}
