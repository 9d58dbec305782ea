package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/world/servers"
)

// rustWorker is the folder of the worker library for Rust.
const rustWorker = "../impls/worker/rust"

// cargo builds a Cargo package and returns the path of its program. The results of a build are kept in the user's cache
// folder.
func cargo(t *testing.T, folder, program string) []string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	target := filepath.Join(cache, "lockbench", "cargo")
	arguments := []string{"build", "--quiet", "--target-dir", target}
	build(t, "cargo", "apt install cargo, and a network for the first build", "error[", folder,
		append([]string{"cargo", "--offline"}, arguments...), append([]string{"cargo"}, arguments...)...)
	return []string{filepath.Join(target, "debug", program)}
}

// TestRustLibrary tests the worker library for Rust.
func TestRustLibrary(t *testing.T) {
	dir := t.TempDir()
	installed(t, rustWorker, filepath.Join(dir, "impls/worker/rust"))
	installed(t, "testdata/worker-rust", filepath.Join(dir, "examples/testdata/worker-rust"))
	library(t, cargo(t, filepath.Join(dir, "examples/testdata/worker-rust"), "scripted"))
}

// TestRustAdapter tests the adapter in Rust with PostgreSQL.
func TestRustAdapter(t *testing.T) {
	adapter{name: "postgres-rust", store: servers.Postgres, command: cargo(t, "postgres-rust", "postgres-rust")}.check(t)
}

// TestRustTemplate tests the template of a worker in Rust.
func TestRustTemplate(t *testing.T) {
	local(t)
	dir := t.TempDir()
	installed(t, rustWorker+"/template", dir)
	installed(t, rustWorker, filepath.Join(dir, "lockbench-worker")) // as the comment in the template says
	command := cargo(t, dir, "my-lock")
	a, b := startTwo(t, "my-lock", command)
	t.Run("exclusion", func(t *testing.T) { exclusion(t, a.Lock(), b.Lock()) })
	t.Run("release", func(t *testing.T) { releases(t, a.Lock(), b.Lock()) })
	t.Run("resource", func(t *testing.T) { resource(t, a) })
}

// TestShortInRust checks the number of lines of the adapter in Rust.
func TestShortInRust(t *testing.T) { short(t, "postgres-rust/src/main.rs", 30) }

// TestCargoLock checks that the lock file has checksums and names no registry but the default one.
func TestCargoLock(t *testing.T) {
	text, err := os.ReadFile("postgres-rust/Cargo.lock")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "checksum = ") {
		t.Error("no checksums")
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "source = ") && line != `source = "registry+https://github.com/rust-lang/crates.io-index"` {
			t.Error(line)
		}
	}
}
