package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestExploreViolations checks that only violated expectations of explore count. A seed without a verdict must not
// count.
func TestExploreViolations(t *testing.T) {
	dir := t.TempDir()
	const text = `{"locks": [{"lock": "l", "failed": [{"seed": 1}], "properties": [
		{"property": "progress", "violated": 3, "failed": 2}, {"property": "recovery", "violated": 3, "failed": 0}]}]}`
	if err := os.WriteFile(filepath.Join(dir, "explored.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := exploreViolations(dir); err != nil || !slices.Equal(got, []string{"progress (l, 2 seeds)"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := exploreViolations(t.TempDir()); err == nil {
		t.Error("no error without results")
	}
}

// TestVirtual checks that only locks that can be simulated are explored in virtual time.
func TestVirtual(t *testing.T) {
	for _, s := range (options{stages: []string{"virtual"}}).plan() {
		if got := s.args("redisson"); len(got) < 3 || got[2] != "redisson" {
			t.Errorf("%q", got)
		}
		if got := s.args("etcd"); got != nil {
			t.Errorf("%q, want none", got)
		}
	}
}
