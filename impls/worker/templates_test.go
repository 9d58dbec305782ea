package worker

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTemplates checks that the files of each template include the adapter and the library that implements the worker protocol.
func TestTemplates(t *testing.T) {
	library := map[string]string{"python": "lockbench_worker.py", "node": "lockbench-worker.mjs", "java": "src/main/java/lockbench/Worker.java",
		"rust": "lockbench-worker/src/lib.rs", "go": "lockbenchworker/worker.go"}
	for _, x := range Templates() {
		files, err := x.Files()
		if err != nil {
			t.Errorf("%s: %v", x.Language, err)
		}
		for _, name := range []string{x.Adapter, library[x.Language]} {
			if len(files[name]) == 0 {
				t.Errorf("%s: the template has no file %q", x.Language, name)
			}
		}
	}
}

// TestGoCopy checks that the copy of the Go library in the template is up to date.
func TestGoCopy(t *testing.T) {
	library, err := filepath.Glob("go/*.go")
	if err != nil || len(library) == 0 {
		t.Fatalf("the folder go has %d files (%v)", len(library), err)
	}
	const folder = "_go/template/lockbenchworker/"
	copies := map[string]bool{}
	for _, path := range library {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		name := filepath.Base(path)
		copies[name] = true
		want, err1 := os.ReadFile(path)
		got, err2 := os.ReadFile(folder + name)
		if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("%s%s differs from %s (%v, %v): copy it", folder, name, path, err1, err2)
		}
	}
	present, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range present {
		if !copies[file.Name()] {
			t.Errorf("%s%s is not in the folder go: remove it", folder, file.Name())
		}
	}
}
