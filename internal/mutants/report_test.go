package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResults(t *testing.T) {
	table := &results{}
	table.add(row{Mutant: "c", Error: "build: x|y"})
	table.add(row{Mutant: "b", Stages: []attempt{{Stage: "run", Outcome: notDetected}, {Stage: "faults", Outcome: noVerdict + " (exit code 3)"}}})
	table.add(row{Mutant: "d", Stages: []attempt{{Stage: "run", Outcome: noVerdict + " (exit code 4)"}}})
	if !table.failed(false) || (&results{Rows: table.Rows[:1]}).failed(true) {
		t.Error("a row with an error must fail, and one that survived must not")
	}
	table.add(row{Mutant: "a", Detected: "faults", Violated: []string{"progress (l, w, f)", "recovery"}, Seconds: 1.26, Repeat: "go run"})
	if found := (&results{Rows: table.Rows[:1]}); found.failed(false) || !found.failed(true) {
		t.Error("a detection must fail only if the locks are unchanged")
	}
	dir := t.TempDir()
	if err := table.write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "detection.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"4 mutants: 1 detected (run 0, faults 1, virtual 0, real 0), 1 survived, 1 without a verdict, 1 not measured because of an error.\n",
		"| a |  |  | detected by faults: progress (l, w, f) and 1 more | 1.3s | `go run` |\n| b |",
		"| survived: run not detected, faults no verdict (exit code 3) |",
		"| run no verdict (exit code 4) |",
		`ERROR: build: x\|y`,
	}
	for _, w := range want {
		if !strings.Contains(string(text), w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
	var again results
	if text, err = os.ReadFile(filepath.Join(dir, "detection.json")); err != nil || json.Unmarshal(text, &again) != nil || len(again.Rows) != 4 {
		t.Errorf("%s, %v", text, err)
	}
}
