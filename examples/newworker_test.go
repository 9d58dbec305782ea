package examples

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/impls/worker"
)

// The variable installs holds a function for each language. The function installs the dependencies of a new worker in
// the folder dir, and returns the worker's command line. If it cannot install them, it skips the test.
var installs = map[string]func(t *testing.T, dir string, x worker.Template) string{
	"python": func(t *testing.T, _ string, x worker.Template) string {
		return strings.Replace(x.Command, "python3", python("redis-py", "redis")(t)[0], 1) // use the installed version of redis instead of the version in requirements.txt
	},
	"node": install("npm", "node-ioredis"),
	"java": func(t *testing.T, dir string, x worker.Template) string {
		skipSlowBuild(t)
		return install("mvn", "maven")(t, dir, x)
	},
	"rust": func(t *testing.T, dir string, x worker.Template) string {
		skipSlowBuild(t)
		cacheTarget(t, dir)
		return install("cargo", "cargo")(t, dir, x)
	},
	"go": install("go", "go"),
}

// install returns a function that runs the install command of a template and returns the worker's command line. If the
// program is missing or the command fails, that function skips the test. It fails the test instead if the environment
// variable LOCKBENCH_REQUIRE contains the given name.
func install(program, name string) func(*testing.T, string, worker.Template) string {
	return func(t *testing.T, dir string, x worker.Template) string {
		t.Helper()
		if _, err := exec.LookPath(program); err != nil {
			need(t, name, "install "+program)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", x.Install)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		if said, err := cmd.CombinedOutput(); err != nil {
			need(t, name, x.Install+": "+err.Error()+"\n"+string(said))
		}
		return x.Command
	}
}

// cacheTarget makes Cargo's build folder (dir/target) a link to a folder in the user's cache. So the dependencies are
// built only once.
func cacheTarget(t *testing.T, dir string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		return
	}
	cache = filepath.Join(cache, "lockbench", "examples", "new-worker-rust")
	if err = os.MkdirAll(cache, 0o700); err == nil {
		err = os.Symlink(cache, filepath.Join(dir, "target"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNewWorkers checks that a new worker of each language can be installed, and that lockbench verify finds no violation in it.
func TestNewWorkers(t *testing.T) {
	lockbench := filepath.Join(t.TempDir(), "lockbench")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", lockbench, "../cmd/lockbench").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, x := range worker.Templates() {
		t.Run(x.Language, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new")
			run(t, ".", lockbench, "new-worker", "--language", x.Language, "--out", dir)
			command := installs[x.Language](t, dir, x)
			run(t, dir, lockbench, "verify", "--worker", command, "--faults", "none", "--servers", "embedded")
		})
	}
}

// run runs a program in a folder, and fails the test unless it exits with 0.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay, cmd.Stdout, cmd.Stderr = dir, time.Second, &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, &said)
	}
}
