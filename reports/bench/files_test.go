package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/reports/bench"
)

// TestRefused checks that damaged or inconsistent files are refused with the expected error.
func TestRefused(t *testing.T) {
	const one = contended4 + "/fenced/001/trial.json"
	for _, c := range []struct{ name, file, old, new, want string }{
		{"newer plan", "bench.json", `"lockbench_bench": 2`, `"lockbench_bench": 3, "colour": "red"`, "the file has version 3 and this lockbench reads version 2"},
		{"older plan", "bench.json", `"lockbench_bench": 2`, `"lockbench_bench": 1, "colour": "red"`, "measure again, or use the lockbench that wrote it"},
		{"no plan", "bench.json", `"lockbench_bench": 2`, `"lockbench": 1`, `no version in "lockbench_bench"`},
		{"unknown field", "bench.json", `"name": "synthetic"`, `"name": "synthetic", "colour": "red"`, `unknown field "colour"`},
		{"more after the end", "bench.json", "", "{}", "invalid character"},
		{"no such subject", "bench.json", `"subject": 0`, `"subject": 77`, "there are 10 subjects and 1 points"},
		{"pair twice", "bench.json", `"subject": 1`, `"subject": 0`, "is there twice"},
		{"subject twice", "bench.json", `"name": "redsync"`, `"name": "fenced"`, "subject fenced is there twice"},
		{"point leads out", "bench.json", `"id": "contended-4c-1k-1ms"`, `"id": ".."`, `point ".."`},
		{"subject is a path", "bench.json", `"name": "redsync"`, `"name": "red/sync"`, `subject "red/sync"`},
		{"unknown role", "bench.json", `"role": "baseline"`, `"role": "ceiling"`, `unknown role "ceiling"`},
		{"newer trial", one, `"lockbench_trial": 2`, `"lockbench_trial": 3`, "has version 3"},
		{"unknown figure", one, `"goodput"`, `"badput"`, `figure "badput"`},
		{"another's trial", one, contended4 + "/fenced/001", contended4 + "/fenced/002", "says that it belongs in"},
		{"of another subject", one, `"subject": "fenced"`, `"subject": "redsync"`, "it is not that of redsync"},
		{"leads out", one, `"dir": "` + contended4, `"dir": "../` + contended4, "want <point>/<subject>/<block>"},
		{"history leads out", contended4 + "/fenced/000/trial.json", `"history": "` + contended4, `"history": "../../` + contended4, "it leads out of the folder"},
		{"block twice", one, `"block": 1`, `"block": 0`, "are both of block 0"},
		{"cut off", one, `"figures"`, "\x00", "invalid character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := writeFolder(dir, options{Blocks: 2, OnlyContend4: true, OnlyFigures: true}); err != nil {
				t.Fatal(err)
			}
			edit(t, filepath.Join(dir, c.file), c.old, c.new)
			if _, err := bench.Read(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ...%s...", err, c.want)
			}
		})
	}
}

// edit replaces the first occurrence of old in a file. If old is empty, it appends new.
func edit(t *testing.T, file, old, new string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := string(text) + new
	if old != "" {
		edited = strings.Replace(string(text), old, new, 1)
	}
	if edited == string(text) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestAbsent checks that a missing trial is not an error, and that a discarded trial has no measured values.
func TestAbsent(t *testing.T) {
	dir := t.TempDir()
	if err := writeFolder(dir, options{OnlyContend4: true, OnlyFigures: true, Discarded: 2}); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"redsync", "set-px-lua/007"} {
		if err := os.RemoveAll(filepath.Join(dir, contended4, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, contended4, "set-px-lua", "010"), 0o755); err != nil { // add a trial that has started but has no results yet
		t.Fatal(err)
	}
	r, err := bench.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string][2]int{"fenced": {8, 2}, "redsync": {0, 0}, "set-px-lua": {9, 0}, "redsync-tuned": {10, 0}} {
		got := row(t, r, subject, contended4)
		if got.Trials != want[0] || got.Discarded != want[1] || got.Estimates["goodput"].N != want[0] {
			t.Errorf("%s: %d trials, %d discarded, want %v; goodput of %d", subject, got.Trials, got.Discarded, want, got.Estimates["goodput"].N)
		}
	}
	last := r.Rankings[0].Order[len(r.Rankings[0].Order)-1]
	if last.Subject != "redsync" || last.Rank != 0 || last.Why != "not measured" {
		t.Errorf("what was not measured: %+v", last)
	}
}

// TestLimited checks that a result is marked if the test machine, not the lock, limited it.
func TestLimited(t *testing.T) {
	for _, c := range []struct {
		point, figure string
		value         float64
		want          string
	}{
		{contended4, "late_p99", 1.9, ""},
		{contended4, "late_p99", 2.5, "harness: clients began late (p99 2.5 ms)"},
		{contended4, "stall_max", 60, "harness: it was stopped for up to 60 ms"},
		{contended4, "processors", 3.7, ""},
		{contended4, "processors", 3.9, "processors: 3.9 of 4 busy"},
		{free, "goodput", 400_000, ""},
		{free, "goodput", 2_000_000, "harness: 2"}, // this goodput is above the limit, which is half the goodput of the baseline "none"
	} {
		dir := t.TempDir()
		if err := writeFolder(dir, options{Blocks: 1, OnlyFigures: true, Points: []string{c.point}}); err != nil {
			t.Fatal(err)
		}
		name := c.point + "/fenced/000"
		trial, err := bench.ReadTrial(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		trial.Figures[c.figure] = c.value
		if err := bench.WriteTrial(dir, trial); err != nil {
			t.Fatal(err)
		}
		r, err := bench.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := row(t, r, "fenced", c.point).Limited; c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %v: %q, want %q", c.figure, c.value, got, c.want)
		}
	}
}
