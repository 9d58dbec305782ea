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

	"lockbench/impls/libraries"
	"lockbench/internal/world/servers"
)

// javaWorker is the folder of the worker library for Java.
const javaWorker = "../impls/worker/java"

// build runs a command in a folder, and then the command fallback if the first one fails. It fails the test if an
// output contains compilerError. If both commands fail for another reason, such as a missing network, it skips the
// test, unless LOCKBENCH_REQUIRE names the tool.
func build(t *testing.T, tool, hint, compilerError, dir string, command []string, fallback ...string) {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		need(t, tool, hint)
	}
	var said []byte
	for _, c := range [][]string{command, fallback} { // the first command needs no network if all packages are cached; the fallback command may use the network
		if len(c) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, c[0], c[1:]...)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		var err error
		if said, err = cmd.CombinedOutput(); err == nil {
			return
		}
		if bytes.Contains(said, []byte(compilerError)) {
			t.Fatalf("%v: %v\n%s", c, err, said)
		}
	}
	need(t, tool, hint+"\n"+string(said))
}

// maven builds a Maven project with the worker library and returns the command that runs its main class. An example
// uses the library in the folder impls/worker/java. A template gets a copy of the library, like a project that the
// command lockbench new-worker creates.
func maven(t *testing.T, folder, main string) []string {
	t.Helper()
	parts := map[string]string{"examples/it": folder, "impls/worker/java/src": javaWorker + "/src"}
	if strings.HasSuffix(folder, "template") {
		parts = map[string]string{"examples/it": folder, "examples/it/src/main/java/lockbench": javaWorker + "/src/main/java/lockbench"}
	}
	dir := filepath.Join(prepared(t, main, parts), "examples/it")
	if _, err := os.Stat(filepath.Join(dir, "target/built")); err != nil {
		build(t, "maven", "apt install maven default-jdk-headless, and a network for the first build", "COMPILATION ERROR", dir,
			[]string{"mvn", "-o", "-B", "-q", "package"}, "mvn", "-B", "-q", "package")
		if err := os.WriteFile(filepath.Join(dir, "target/built"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"java", "-cp", filepath.Join(dir, "target/classes") + ":" + filepath.Join(dir, "target/dependency/*"), main}
}

// TestJavaLibrary tests the worker library for Java.
func TestJavaLibrary(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob(javaWorker + "/src/main/java/lockbench/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%v, %v", sources, err)
	}
	dir := t.TempDir()
	compile := append([]string{"javac", "--release", "17", "-Xlint:all,-serial", "-Werror", "-d", dir, "testdata/worker-java/Scripted.java"}, sources...)
	build(t, "javac", "apt install default-jdk-headless", "error", "", compile)
	library(t, []string{"java", "-cp", dir, "Scripted"})
}

// installed installs the current version of a library in impls/libraries and returns the command of its worker. If the library cannot be
// installed, for example without a network, it skips the test, unless LOCKBENCH_REQUIRE names the tool.
func installed(t *testing.T, library, tool, compilerError string) []string {
	t.Helper()
	skipSlowBuild(t)
	c, err := libraries.Find(library)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	folder, err := libraries.Install(t.Context(), c, &log)
	if bytes.Contains(log.Bytes(), []byte(compilerError)) {
		t.Fatalf("%v\n%s", err, &log)
	}
	if err != nil {
		need(t, tool, err.Error())
	}
	return []string{"/bin/sh", "-c", "exec " + c.Command(folder)}
}

// TestJavaAdapters tests two adapters in Java with their libraries and servers.
func TestJavaAdapters(t *testing.T) {
	t.Parallel()
	t.Run("curator", func(t *testing.T) {
		t.Parallel()
		command := installed(t, "curator", "maven", ".java:")
		adapter{name: "curator-java-mutex", store: servers.ZooKeeper, lost: true, reentrant: true, command: command}.check(t)
	})
	t.Run("redisson", func(t *testing.T) {
		t.Parallel()
		local(t)
		adapter{name: "redisson-java-lock", store: servers.Redis, reentrant: true, command: installed(t, "redisson", "maven", ".java:")}.check(t)
	})
}

// TestJavaTemplate tests the template of a worker in Java.
func TestJavaTemplate(t *testing.T) {
	t.Parallel()
	local(t)
	command := maven(t, javaWorker+"/template", "MyLock")
	a, b := startTwo(t, "my-lock", command)
	t.Run("exclusion", func(t *testing.T) { exclusion(t, a.Lock(), b.Lock()) })
	t.Run("release", func(t *testing.T) { releases(t, a.Lock(), b.Lock()) })
	t.Run("resource", func(t *testing.T) { resource(t, a) })
}

// short checks that a file has at least 15 lines, and at most as many as the parameter most.
func short(t *testing.T, file string, most int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > most || lines < 15 {
		t.Errorf("%s has %d lines, at most %d", file, lines, most)
	}
}
