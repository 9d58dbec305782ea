package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/impls/worker"
	"lockbench/internal/cli"
)

// soundWorker is a worker with a correct lock.
func soundWorker() { workerOf("sound", "set-px-lua") }

// leavingWorker is a worker whose lock does nothing on a release. The key stays on the server and never expires.
func leavingWorker() {
	workerThat("leaving", func(env impls.Env) (impls.Lock, error) {
		l, err := lockNamed("setnx").Open(env)
		return leaving{l}, err
	})
}

type leaving struct{ impls.Lock }

func (leaving) Release(context.Context, impls.Grant) error { return nil }

// brokenWorker is a worker whose lock never refuses a client.
func brokenWorker() { workerOf("broken", "none") }

// oldWorker is a worker that speaks protocol version 1. Lockbench cannot ask such a worker to describe its lock.
func oldWorker() {
	const old, current = `"lockbench_worker":1`, `"lockbench_worker":2`
	in := bufio.NewReader(os.Stdin)
	first, err := in.ReadString('\n')
	if err != nil || !strings.Contains(first, old) {
		fmt.Println(`{` + old + `,"name":"","error":"the first line must be of version 1"}`)
		os.Exit(1)
	}
	read, write := io.Pipe()
	about := worker.About{Name: "old"}
	go func() {
		_ = worker.Serve(io.MultiReader(strings.NewReader(strings.Replace(first, old, current, 1)), in), write,
			func(worker.Open) (worker.About, error) { return about, nil },
			func(_ worker.Open, env impls.Env) (impls.Lock, error) { return lockNamed("set-px-lua").Open(env) })
		write.Close()
	}()
	for lines := bufio.NewScanner(read); lines.Scan(); {
		fmt.Println(strings.Replace(lines.Text(), current, old, 1))
	}
}

func lockNamed(name string) impls.Impl {
	i := slices.IndexFunc(catalog.All(), func(l impls.Impl) bool { return l.Name == name })
	return catalog.All()[i]
}

func workerOf(name, lock string) {
	workerThat(name, func(env impls.Env) (impls.Lock, error) { return lockNamed(lock).Open(env) })
}

func workerThat(name string, open func(impls.Env) (impls.Lock, error)) {
	about := func(worker.Open) (worker.About, error) {
		return worker.About{Name: name, Capabilities: []string{worker.CanCancel}}, nil
	}
	err := worker.Serve(os.Stdin, os.Stdout, about, func(_ worker.Open, env impls.Env) (impls.Lock, error) { return open(env) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestExampleOfCI checks that the lock of redis-py meets the expectations in examples/ci.
func TestExampleOfCI(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if python == "" && exec.CommandContext(t.Context(), name, "-c", "import redis").Run() == nil {
			python = name
		}
	}
	if python == "" {
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "python3-redis") {
			t.Fatal("python3-redis is required: apt install python3-redis")
		}
		t.Skip("python3-redis is not to be had: apt install python3-redis")
	}
	t.Chdir("../..")
	var stdout, stderr strings.Builder
	code := cli.Run(t.Context(), &stdout, &stderr, []string{"verify", "--worker", python + " examples/redis-py/worker.py",
		"--expectations", "examples/ci/expectations.json", "--servers", "embedded", "--out", filepath.Join(t.TempDir(), "run")})
	if code != 0 {
		t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
}
