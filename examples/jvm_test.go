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

	"lockbench/internal/world/servers"
)

// javaWorker is the folder of the worker library for Java.
const javaWorker = "../impls/worker/java"

// build runs a command in a folder. It fails the test if the output contains the given compiler error, and skips it if
// the command fails for another reason, such as a missing network.
func build(t *testing.T, tool, hint, compilerError, dir string, command []string, fallback ...string) {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		need(t, tool, hint)
	}
	var said []byte
	for _, c := range [][]string{command, fallback} { // the first works without a network if all packages are cached
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

// maven builds a Maven project in a temporary folder and returns the command that runs its main class.
func maven(t *testing.T, folder, main string, sdk bool) []string {
	t.Helper()
	dir := t.TempDir()
	installed(t, folder, dir)
	library, err := filepath.Abs(javaWorker)
	if err != nil {
		t.Fatal(err)
	}
	if sdk { // as the comment in the template says
		installed(t, filepath.Join(library, "src/main/java/lockbench"), filepath.Join(dir, "src/main/java/lockbench"))
	}
	arguments := []string{"-B", "-q", "package", "-Dworker=" + library}
	build(t, "maven", "apt install maven default-jdk-headless, and a network for the first build", "COMPILATION ERROR", dir,
		append([]string{"mvn", "-o"}, arguments...), append([]string{"mvn"}, arguments...)...)
	return []string{"java", "-cp", filepath.Join(dir, "target/classes") + ":" + filepath.Join(dir, "target/dependency/*"), main}
}

// TestJavaLibrary tests the worker library for Java.
func TestJavaLibrary(t *testing.T) {
	sources, err := filepath.Glob(javaWorker + "/src/main/java/lockbench/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%v, %v", sources, err)
	}
	dir := t.TempDir()
	compile := append([]string{"javac", "--release", "17", "-Xlint:all,-serial", "-Werror", "-d", dir, "testdata/worker-java/Scripted.java"}, sources...)
	build(t, "javac", "apt install default-jdk-headless", "error", "", compile)
	library(t, []string{"java", "-cp", dir, "Scripted"})
}

// TestJavaAdapters tests the adapters in Java with their libraries and servers.
func TestJavaAdapters(t *testing.T) {
	t.Run("curator", func(t *testing.T) {
		adapter{name: "curator", store: servers.ZooKeeper, lost: true, reentrant: true, command: maven(t, "curator", "CuratorWorker", false)}.check(t)
	})
	t.Run("redisson", func(t *testing.T) {
		local(t)
		adapter{name: "redisson", store: servers.Redis, reentrant: true, command: maven(t, "redisson", "RedissonWorker", false)}.check(t)
	})
}

// TestJavaTemplate tests the template of a worker in Java.
func TestJavaTemplate(t *testing.T) {
	local(t)
	command := maven(t, javaWorker+"/template", "MyLock", true)
	a, b := startTwo(t, "my-lock", command)
	t.Run("exclusion", func(t *testing.T) { exclusion(t, a.Lock(), b.Lock()) })
	t.Run("release", func(t *testing.T) { releases(t, a.Lock(), b.Lock()) })
	t.Run("resource", func(t *testing.T) { resource(t, a) })
}

// short checks the number of lines of a file.
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

// TestShortInJava checks the number of lines of each adapter in Java. Both adapters have re-entry; one reports losses.
func TestShortInJava(t *testing.T) {
	short(t, "curator/src/main/java/CuratorWorker.java", 50)
	short(t, "redisson/src/main/java/RedissonWorker.java", 50)
}
