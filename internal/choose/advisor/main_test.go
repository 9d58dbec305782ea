package advisor

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/impls/catalog"
	redislocks "lockbench/impls/redis"
	"lockbench/impls/worker"
)

// TestMain runs the worker instead of the tests if the program was started as a worker process.
func TestMain(m *testing.M) {
	redislocks.Quiet()
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := worker.Serve(os.Stdin, os.Stdout, aboutNamed, openNamed); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func aboutNamed(o worker.Open) (worker.About, error) {
	l, err := findLock(o.Lock)
	return worker.AboutLock(l), err
}

func openNamed(o worker.Open, env impls.Env) (impls.Lock, error) {
	l, err := findLock(o.Lock)
	if err != nil {
		return nil, err
	}
	return l.Open(env)
}

func findLock(name string) (impls.Impl, error) {
	all := catalog.All()
	i := slices.IndexFunc(all, func(l impls.Impl) bool { return l.Name == name })
	if i < 0 {
		return impls.Impl{}, fmt.Errorf("unknown lock %q", name)
	}
	return all[i], nil
}

// needRedis skips a test if redis-server is missing, and fails it if LOCKBENCH_REQUIRE names redis-server.
func needRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "redis-server") {
		t.Fatal("redis-server is not on the PATH, and LOCKBENCH_REQUIRE names it")
	}
	t.Skip("redis-server is not on the PATH: apt install redis-server")
}
