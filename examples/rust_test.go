package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lockbench/internal/world/servers"
)

// rustWorker is the folder of the worker library for Rust.
const rustWorker = "../impls/worker/rust"

// cargo builds a Cargo package in a prepared folder and returns the path of its program. All packages share the builds of
// their dependencies.
func cargo(t *testing.T, folder, program string) []string {
	t.Helper()
	built := filepath.Join(folder, "built-"+program)
	if _, err := os.Stat(built); err == nil {
		return []string{built}
	}
	target := filepath.Join(cacheFolder(t), "cargo")
	arguments := []string{"build", "--quiet", "--target-dir", target}
	build(t, "cargo", "install Rust 1.88 or newer; the first build needs a network", "error[", folder,
		append([]string{"cargo", "--offline"}, arguments...), append([]string{"cargo"}, arguments...)...)
	text, err := os.ReadFile(filepath.Join(target, "debug", program))
	if err == nil {
		err = os.WriteFile(built, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{built}
}

// TestRustLibrary tests the worker library for Rust.
func TestRustLibrary(t *testing.T) {
	t.Parallel()
	dir := prepared(t, "scripted", map[string]string{"impls/worker/rust": rustWorker, "examples/testdata/it": "testdata/worker-rust"})
	command := cargo(t, filepath.Join(dir, "examples/testdata/it"), "scripted")
	units := exec.CommandContext(t.Context(), "cargo", "--offline", "test", "--quiet")
	units.Dir = filepath.Join(dir, "impls/worker/rust")
	if said, err := units.CombinedOutput(); err != nil {
		t.Errorf("cargo test: %v\n%s", err, said)
	}
	library(t, command)
}

// TestRustAdapter tests the adapter in Rust with PostgreSQL.
func TestRustAdapter(t *testing.T) {
	t.Parallel()
	dir := prepared(t, "postgres", map[string]string{"impls/worker/rust": rustWorker, "examples/it": "postgres-rust"})
	adapter{name: "postgres-rust", store: servers.Postgres, command: cargo(t, filepath.Join(dir, "examples/it"), "postgres-rust")}.check(t)
}

// TestRustTemplate tests the template of a worker in Rust.
func TestRustTemplate(t *testing.T) {
	t.Parallel()
	local(t)
	parts := map[string]string{"it": rustWorker + "/template", "it/lockbench-worker": rustWorker} // lockbench new-worker writes the same folders
	command := cargo(t, filepath.Join(prepared(t, "my-lock", parts), "it"), "my-lock")
	a, b := startTwo(t, "my-lock", command)
	t.Run("exclusion", func(t *testing.T) { exclusion(t, a.Lock(), b.Lock()) })
	t.Run("release", func(t *testing.T) { releases(t, a.Lock(), b.Lock()) })
	t.Run("resource", func(t *testing.T) { resource(t, a) })
}

// TestShortInRust checks that the adapter in Rust is a short example: its source code has between 15 and 30 lines.
func TestShortInRust(t *testing.T) { short(t, "postgres-rust/src/main.rs", 30) }
