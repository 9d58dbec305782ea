package benchtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFolder: the same options give the same bytes, and another seed gives others.
func TestFolder(t *testing.T) {
	a, b, other := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, o := range map[string]Options{a: {Blocks: 2}, b: {Blocks: 2}, other: {Blocks: 2, Seed: 1}} {
		if err := Folder(dir, o); err != nil {
			t.Fatal(err)
		}
	}
	const one = "contended-16c-1k-1ms/fenced/001/trial.json"
	read := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, one))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read(a) != read(b) {
		t.Error("the same options give other bytes")
	}
	if read(a) == read(other) {
		t.Error("another seed gives the same bytes")
	}
}
