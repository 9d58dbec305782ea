package explore

import (
	"bytes"
	"cmp"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/checker/judge"
)

// TestEmittedTest checks that an emitted test compiles. The test must pass if its case violates the property, and must
// fail otherwise.
func TestEmittedTest(t *testing.T) {
	shows, silent := stalled(t), stalled(t)
	silent.Lock = "set-px-lua"
	for _, c := range []struct {
		file   File
		passes bool
	}{{shows, true}, {silent, false}} {
		var source bytes.Buffer
		if err := EmitTest(&source, c.file); err != nil {
			t.Fatal(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "x.go", source.Bytes(), 0); err != nil {
			t.Fatal(err)
		}
		out, err := runTest(t, source.Bytes())
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		if (err == nil) != c.passes || !c.passes && !strings.Contains(out, "lease-exclusion is not violated") {
			t.Errorf("%s: %v\n%s\n%s", c.file.Lock, err, out, &source)
		}
	}
}

// runTest runs a test file in a temporary package of this module.
func runTest(t *testing.T, source []byte) (output string, err error) {
	t.Helper()
	const parent = "testdata" // go test ./... skips folders with this name
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(parent, "emitted-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(dir)
		os.Remove(parent) // fails harmlessly if the folder is not empty
	})
	if err := os.WriteFile(filepath.Join(dir, "case_test.go"), source, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=2m", "./"+dir).CombinedOutput()
	return string(out), err
}

// TestEmittedHistory checks an emitted history. Judging it must give the verdict of the original run. Its file name must
// state this verdict.
func TestEmittedHistory(t *testing.T) {
	searched := 0
	for _, fault := range []string{"holder-stall", "holder-kill", "process-pause", "server-restart"} {
		for _, lock := range []string{"set-px", "setnx", "redisson"} {
			f, err := tableCase(lock, fault, "counter", "")
			if err != nil {
				t.Fatal(err)
			}
			r, err := f.Run()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), HistoryName(r))
			var text bytes.Buffer
			if err := errors.Join(EmitHistory(&text, r), os.WriteFile(path, text.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
			v, header, err := judge.File(path, judge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if header.Lock != lock || v.Until != r.Verdict.Until || v.Counts != r.Verdict.Counts {
				t.Errorf("%s: %+v until %v, was %+v until %v", filepath.Base(path), v.Counts, v.Until, r.Verdict.Counts, r.Verdict.Until)
			}
			var violated, undecided []string
			for i, found := range v.Findings {
				if was := r.Verdict.Findings[i]; found.Observed != was.Observed || found.Why != was.Why {
					t.Errorf("%s: %s is %v (%s), and was %v (%s)", filepath.Base(path), found.Property, found.Observed, found.Why, was.Observed, was.Why)
				}
				switch found.Observed {
				case checker.Violated:
					violated = append(violated, found.Property)
				case checker.Undecided:
					undecided = append(undecided, found.Property)
				}
			}
			var parts []string
			if len(violated) > 0 {
				parts = append(parts, "violates-"+strings.Join(violated, "+"))
			}
			if len(undecided) > 0 {
				parts = append(parts, "undecided-"+strings.Join(undecided, "+"))
			}
			if want := cmp.Or(strings.Join(parts, "_"), "holds") + "--" + lock + "-under-"; !strings.HasPrefix(filepath.Base(path), want) {
				t.Errorf("%s, want %s", filepath.Base(path), want)
			}
			again, err := r.Rejudge()
			if err != nil || len(again.Oracle.Disagreements) > 0 || again.Counts != v.Counts {
				t.Fatalf("%s: judged again %+v, %v", filepath.Base(path), again, err)
			}
			searched += again.Oracle.Pairs
		}
	}
	if searched == 0 {
		t.Error("the oracle searched nothing")
	}
}
