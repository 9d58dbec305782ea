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
	table.add(row{Mutant: "b", Stages: []attempt{{Stage: "run", Outcome: notDetected}, {Stage: "faults", Outcome: notDetected + " (exit code 3)"}}})
	if table.failed(true) != true || (&results{Rows: table.Rows[:1]}).failed(true) {
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
		"1 of 3 mutants detected (run 0, faults 1, virtual 0, real 0), 1 survived, 1 could not be measured.\n",
		"| a |  |  | detected by faults: progress (l, w, f) and 1 more | 1.3s | `go run` |\n| b |",
		"| survived: run not detected, faults not detected (exit code 3) |",
		`ERROR: build: x\|y`,
	}
	for _, w := range want {
		if !strings.Contains(string(text), w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
	var again results
	if text, err = os.ReadFile(filepath.Join(dir, "detection.json")); err != nil || json.Unmarshal(text, &again) != nil || len(again.Rows) != 3 {
		t.Errorf("%s, %v", text, err)
	}
}
