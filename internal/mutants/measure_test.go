package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// played is an environment variable that makes the test binary behave like lockbench. Its value is the exit code,
// "crash" or "hang".
const played = "LOCKBENCH_MUTANTS_PLAYED"

func TestMain(m *testing.M) {
	if role := os.Getenv(played); role != "" {
		play(role)
	}
	os.Exit(m.Run())
}

// play behaves like lockbench. It writes results to the folder in the flag --out and exits.
func play(role string) {
	out := os.Args[slices.Index(os.Args, "--out")+1]
	result := "pass"
	code := 0
	switch role {
	case "crash":
		panic("a mistake")
	case "hang":
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		<-interrupted
		os.Exit(exitInterrupted)
	case "empty":
		code = exitViolated
	default:
		fmt.Sscan(role, &code)
		if code == exitViolated {
			result = "FAIL"
		}
	}
	fmt.Fprintln(os.Stderr, "lockbench: played")
	text := fmt.Sprintf(`{"cells": [{"lock": "l", "workload": "w", "fault": "f", "property": "progress", "result": %q}]}`, result)
	if err := os.MkdirAll(out, 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(out, "results.json"), []byte(text), 0o644); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// TestAttempt checks the outcome of a stage for each way in which lockbench can end.
func TestAttempt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		role, outcome string
		violated      []string
		fails         string
	}{
		{role: "0", outcome: notDetected},
		{role: "1", outcome: detected, violated: []string{"progress (l, w, f)"}},
		{role: "3", outcome: noVerdict + " (exit code 3)"},
		{role: "4", outcome: noVerdict + " (exit code 4)"},
		{role: "6", outcome: notDetected + " (exit code 6)"},
		{role: "crash", outcome: crashed},
		{role: "hang", outcome: timedOut},
		{role: "2", fails: "stage s: lockbench: played"},
		{role: "empty", fails: "exit code 1 without a violated property"},
	} {
		t.Run(c.role, func(t *testing.T) {
			t.Setenv(played, c.role)
			dir := t.TempDir()
			program := filepath.Join(dir, "lockbench")
			if err := os.Symlink(self, program); err != nil {
				t.Skip(err)
			}
			m := &measurement{out: t.TempDir()}
			one := mutant{name: "m", locks: []string{"l"}}
			if err := os.MkdirAll(filepath.Join(m.out, one.name), 0o755); err != nil {
				t.Fatal(err)
			}
			limit := time.Minute
			if c.role == "hang" {
				limit = 200 * time.Millisecond
			}
			s := stage{"s", limit, func(string) []string { return []string{"run"} }, runViolations}
			a, violated, err := m.attempt(t.Context(), s, one.name, "l", program)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %s", err, c.fails)
				}
				return
			}
			if err != nil || a.Outcome != c.outcome || !slices.Equal(violated, c.violated) {
				t.Errorf("%q, %v, %v, want %q, %v", a.Outcome, violated, err, c.outcome, c.violated)
			}
			if text, err := os.ReadFile(filepath.Join(m.out, "m", "s-l.txt")); err != nil || c.role == "1" && !bytes.Contains(text, []byte("played")) {
				t.Errorf("the output of the stage: %q, %v", text, err)
			}
		})
	}
}

// TestNotApplicable checks that a stage without arguments does not run.
func TestNotApplicable(t *testing.T) {
	s := stage{name: "s", args: func(string) []string { return nil }}
	if a, _, err := (&measurement{}).attempt(t.Context(), s, "m", "l", "missing"); err != nil || a.Outcome != notApplicable {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestRow builds mutants of a small module. Each mutant must have its mistake, and no later mutant may have it. No stage
// may run after the stage that detects the mutant.
func TestRow(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module small\n")
	const code = "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(0) }\n"
	write("cmd/lockbench/main.go", code)
	diff := func(becomes string) string {
		return "\ndiff --git a/cmd/lockbench/main.go b/cmd/lockbench/main.go\n--- a/cmd/lockbench/main.go\n+++ b/cmd/lockbench/main.go\n" +
			"@@ -2,4 +2,4 @@\n \n import \"os\"\n \n-func main() { os.Exit(0) }\n+func main() { " + becomes + " }\n"
	}
	write("detected.patch", diff("os.Exit(1)"))
	write("unbuildable.patch", diff("os.Exit(x)"))
	write("unappliable.patch", strings.Replace(diff("os.Exit(1)"), "os.Exit(0)", "os.Exit(7)", 1))

	violations := func(string) ([]string, error) { return []string{"progress"}, nil }
	args := func(string) []string { return []string{"run"} }
	m := &measurement{module: &module{dir: dir}, dir: t.TempDir(), out: t.TempDir(),
		stages: []stage{{"never", time.Minute, func(string) []string { return nil }, nil}, {"first", time.Minute, args, violations}, {"second", time.Minute, args, violations}}}
	for _, c := range []struct {
		name, detected, fails string
		stages                int
	}{
		{"detected", "first", "", 2},
		{"unbuildable", "", "build:", 0},
		{"unappliable", "", "apply the patch:", 0},
		{"", "", "", 3},
	} {
		one := mutant{name: "m", locks: []string{"l"}}
		if c.name != "" {
			one.patch = c.name + ".patch"
		}
		r := m.row(t.Context(), one)
		if r.Detected != c.detected || len(r.Stages) != c.stages || c.fails == "" && r.Error != "" || !strings.HasPrefix(r.Error, c.fails) {
			t.Errorf("%q: %+v", c.name, r)
		}
		if now, err := os.ReadFile(filepath.Join(dir, "cmd/lockbench/main.go")); err != nil || string(now) != code {
			t.Errorf("%q: the module was not restored: %s, %v", c.name, now, err)
		}
	}
}

// TestRepeat checks the command that measures a row again.
func TestRepeat(t *testing.T) {
	m := &measurement{stages: []stage{{name: "run"}, {name: "real"}}, search: time.Minute}
	for want, r := range map[string]row{
		"go run ./internal/mutants --only a --stages run":                    {Mutant: "a", Patch: "p", Detected: "run"},
		"go run ./internal/mutants --only a --stages run,real --for 1m0s":    {Mutant: "a", Patch: "p"},
		"go run ./internal/mutants --unchanged --stages run,real --for 1m0s": {Mutant: "unchanged-a"},
	} {
		if got := m.repeat(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestInterrupt checks that an interrupt ends a stage at once.
func TestInterrupt(t *testing.T) {
	t.Setenv(played, "hang")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, _, err := (&measurement{}).command(ctx, stage{limit: time.Hour}, self, []string{"--out", t.TempDir()}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}
