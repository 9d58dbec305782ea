package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/impls/catalog"
)

const root = "../.."

// atLeast is the smallest allowed number of mutants.
const atLeast = 60

// TestPatches checks that each patch applies to the module and changes only the code of locks. Every store with a
// correct built-in lock must have a mutant.
func TestPatches(t *testing.T) {
	needGit(t)
	all, err := readMutants(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < atLeast {
		t.Errorf("%d mutants, want at least %d", len(all), atLeast)
	}
	storeOf, missing := map[string]string{}, map[string]bool{}
	for _, l := range catalog.Own() {
		storeOf[l.Name] = l.Store
		missing[l.Store] = l.Store != ""
	}
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			for _, lock := range m.locks {
				store, known := storeOf[lock]
				if !known {
					t.Errorf("there is no lock %q", lock)
				}
				missing[store] = false
			}
			for _, file := range m.changes {
				if !strings.HasPrefix(file, "impls/") || strings.HasSuffix(file, "_test.go") {
					t.Errorf("the patch changes %s, which is not the code of a lock", file)
				}
			}
		})
	}
	for store, isMissing := range missing {
		if isMissing {
			t.Errorf("no mutant of a lock on %s", store)
		}
	}
	for _, problem := range unappliable(t, all) {
		t.Error(problem)
	}
}

// unappliable returns an error for each patch that does not apply.
func unappliable(t *testing.T, all []mutant) (problems []error) {
	for _, m := range all {
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--check", filepath.FromSlash(m.patch))
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			problems = append(problems, fmt.Errorf("%s does not apply: %w: %s", m.patch, err, out))
		}
	}
	return problems
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing: apt install git")
	}
}

func TestParseMutant(t *testing.T) {
	const diff = "\ndiff --git a/impls/x.go b/impls/x.go\n--- a/impls/x.go\n+++ b/impls/x.go\n@@ -1 +1 @@\n-a\n+b\n"
	m, err := parseMutant("l-short.patch", "lock: l, k\nmistake: a wrong unit\nmatters: always: each time\n"+diff)
	if err != nil || m.name != "l-short" || m.patch != patches+"/l-short.patch" || !slices.Equal(m.locks, []string{"l", "k"}) ||
		m.mistake != "a wrong unit" || m.matters != "always: each time" || !slices.Equal(m.changes, []string{"impls/x.go"}) {
		t.Errorf("%+v, %v", m, err)
	}
	for _, broken := range []string{
		"lock: l\nmistake: a\nmatters: b\n",
		"lock: l\nmistake: a\n" + diff,
		"mistake: a\nmatters: b\n" + diff,
		"lock: l\nmatters: b\n" + diff,
		"lock: l\nmistake: a\nmatters: b\nwhy: c\n" + diff,
	} {
		if _, err := parseMutant("x.patch", broken); err == nil {
			t.Errorf("no error: %q", broken)
		}
	}
}

func TestUnchanged(t *testing.T) {
	var names []string
	for _, m := range unchanged([]mutant{{locks: []string{"b", "a"}, patch: "x"}, {locks: []string{"b"}, patch: "y"}}) {
		if m.patch != "" {
			t.Errorf("%s has a patch", m.name)
		}
		names = append(names, m.name)
	}
	if want := []string{"unchanged-a", "unchanged-b"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
