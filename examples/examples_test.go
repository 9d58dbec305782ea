// Package examples tests the example workers. A worker is a program that lets lockbench test a lock in any language.
package examples

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/drive/workers"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// need fails the test if LOCKBENCH_REQUIRE names the missing program, and skips the test otherwise.
func need(t *testing.T, what, how string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), what) {
		t.Fatalf("%s is required: %s", what, how)
	}
	t.Skipf("%s is missing: %s", what, how)
}

// commands holds a function for each example worker that runs on Redis. The function makes the worker ready to run and
// returns its command line.
var commands = map[string]func(*testing.T) []string{"redis-py": python("redis-py", "redis"), "redlock-node": node("redlock-node", "redlock"), "go-redislock": goModule("go-redislock")}

// python returns a function for an example in Python. The returned function returns the command line of the example. If
// Python cannot import the package named by the parameter needs, the function skips or fails the test. The Debian
// package has the same name with the prefix python3-, such as python3-redis.
func python(folder, needs string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		for _, name := range []string{"python3", "/usr/bin/python3"} {
			imports := exec.CommandContext(t.Context(), name, "-c", "import "+needs)
			imports.Dir = os.TempDir() // the folder examples contains a folder kazoo, which Python would import instead of the package kazoo
			if imports.Run() == nil {
				return []string{name, folder + "/worker.py"}
			}
		}
		need(t, "python3-"+needs, "apt install python3-"+needs)
		return nil
	}
}

// node returns a function for an example in Node.js. That function installs the npm packages of the example if they are
// missing, and returns the example's command line.
func node(folder, needs string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		if _, err := os.Stat(filepath.Join(folder, "node_modules", needs)); err == nil {
			return []string{"node", folder + "/worker.mjs"}
		}
		dir := t.TempDir()
		copied(t, dir, folder+"/worker.mjs", folder+"/package.json", folder+"/package-lock.json", "../impls/worker/node/lockbench-worker.mjs")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		if said, err := cmd.CombinedOutput(); err != nil {
			need(t, "node-"+needs, "apt install nodejs npm; npm ci in examples/"+folder+" ("+err.Error()+" "+string(said)+")")
		}
		return []string{"node", filepath.Join(dir, "worker.mjs")}
	}
}

// copied copies each file into the folder dir. The copy has the base name of the file.
func copied(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestShort checks the number of lines of each example.
func TestShort(t *testing.T) {
	for file, most := range map[string]int{"redis-py/worker.py": 40, "kazoo/worker.py": 50, "redlock-node/worker.mjs": 40,
		"etcd3-node/worker.mjs": 40, "go-redislock/main.go": 40} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(text), "\n")
		if lines > most || lines < 20 {
			t.Errorf("%s has %d lines, at most %d", file, lines, most)
		}
	}
}

// TestLockfile checks that npm's lock files have checksums and no registry URLs.
func TestLockfile(t *testing.T) {
	for _, folder := range []string{"redlock-node", "etcd3-node"} {
		text, err := os.ReadFile(folder + "/package-lock.json")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"resolved"`) || !strings.Contains(string(text), `"integrity"`) {
			t.Errorf("%s: want checksums and no registry addresses in the lock file", folder)
		}
	}
}

// timeout is the maximum time for each step of a test.
const timeout = 30 * time.Second

func local(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		need(t, "redis-server", "apt install redis-server")
	}
}

// TestProtocol checks that each example follows the protocol between lockbench and a worker.
func TestProtocol(t *testing.T) {
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local(t)
			a, b := startTwo(t, name, command(t))
			t.Run("exclusion", func(t *testing.T) { exclusion(t, a.Lock(), b.Lock()) })
			t.Run("release", func(t *testing.T) { releases(t, a.Lock(), b.Lock()) })
			t.Run("resource", func(t *testing.T) { resource(t, a) })
			if err := errors.Join(a.Failed(), b.Failed(), a.Close(), b.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// startTwo starts a Redis server and two processes of an example worker.
func startTwo(t *testing.T, name string, command []string) (a, b *workers.Process) {
	t.Helper()
	return startOn(t, servers.Redis, time.Minute, name, command)
}

// startOn starts a server of a store and two processes of a worker. It skips the test if the store is missing.
func startOn(t *testing.T, store string, ttl time.Duration, name string, command []string) (a, b *workers.Process) {
	t.Helper()
	if err := stores.Missing(store); err != nil {
		need(t, store, err.Error())
	}
	g, err := stores.Start(t.Context(), servers.Spec{How: servers.Local, Store: store, Deployment: servers.Single, Self: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	k, err1 := children.New()
	guarded, err2 := workers.Guard(workloads.NewRegister(workloads.Checking))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(errors.Join(err, g.Stop()))
	}
	t.Cleanup(func() {
		if err := errors.Join(k.Close(), guarded.Close(), g.Stop()); err != nil {
			t.Error(err)
		}
	})
	var two []*workers.Process
	for i := range 2 {
		open := worker.Open{Nodes: g.URLs(), Prefix: keyPrefix, Process: i, TTLMS: ttl.Milliseconds(), Resource: guarded.URL}
		p, err := workers.Start(t.Context(), k, impls.Program{Command: command}, open, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Ready.Name != name {
			t.Errorf("its name is %q", p.Ready.Name)
		}
		two = append(two, p)
	}
	if g.ObservedStep() > 0 {
		prefixed(t, g, two[0].Lock(), ttl)
	}
	return two[0], two[1]
}

// keyPrefix is the prefix that workers must put before each key.
const keyPrefix = "lockbench:test:"

// prefixed checks that the names of all entries in the store have the prefix while a worker holds a lock.
func prefixed(t *testing.T, g *servers.Group, lock impls.Lock, ttl time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	held, err := lock.Acquire(ctx, impls.Request{Key: "prefixed", Owner: "c", TTL: ttl, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.Observe()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := all[0].Entries(ctx, "")
	if err != nil || len(entries) == 0 {
		t.Errorf("%d entries in the store, %v", len(entries), err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Name, keyPrefix) {
			t.Errorf("the store has an entry %q, want the prefix %s", e.Name, keyPrefix)
		}
	}
	if err := errors.Join(all[0].Close(), lock.Release(ctx, held.Grant)); err != nil {
		t.Error(err)
	}
}

func request(key string, wait time.Duration) impls.Request {
	return impls.Request{Key: key, Owner: "c", TTL: time.Minute, Wait: wait, KeepAlive: true}
}

func exclusion(t *testing.T, a, b impls.Lock) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	held, err := a.Acquire(ctx, request("k", 0))
	if err != nil || held.Token == "" || held.Validity < 50*time.Second || held.Validity > time.Minute {
		t.Fatalf("%+v, %v", held.Grant, err)
	}
	if _, err := b.Acquire(ctx, request("k", 0)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a try: %v, want busy", err)
	}
	if _, err := b.Acquire(ctx, request("k", 50*time.Millisecond)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("an acquire that timed out: %v, want busy", err)
	}
	if p, ok := b.(impls.Prober); ok {
		if token, left, err := p.Probe(ctx, "k"); err != nil || token != held.Token || left < 20*time.Second {
			t.Errorf("the store says %q, %v, %v", token, left, err)
		}
	}
	impatient, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if _, err := b.Acquire(impatient, request("k", -1)); err == nil {
		t.Error("a cancelled acquire was granted")
	}
	granted := make(chan error, 1)
	go func() {
		h, err := b.Acquire(ctx, request("k", -1))
		if err == nil {
			err = b.Release(ctx, h.Grant)
		}
		if err == nil && h.SentAfter == 0 {
			err = errors.New("sent_after_ns is missing")
		}
		granted <- err
	}()
	time.Sleep(100 * time.Millisecond) // give the other client time to start waiting
	if err := a.Release(ctx, held.Grant); err != nil {
		t.Error(err)
	}
	if err := <-granted; err != nil {
		t.Errorf("waiting: %v", err)
	}
}

func releases(t *testing.T, a, b impls.Lock) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	brief := request("r", 0)
	brief.TTL = 200 * time.Millisecond
	expired, err := a.Acquire(ctx, brief)
	if err != nil {
		t.Fatal(err)
	}
	held, err := b.Acquire(ctx, request("r", -1)) // waits until the first lease has expired
	if err != nil {
		t.Fatal(err)
	}
	never := impls.Grant{Key: "r", Owner: "c", Token: "never"}
	for what, g := range map[string]impls.Grant{"an expired grant": expired.Grant, "an unknown grant": never} {
		if err := a.Release(ctx, g); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("release of %s: %v, want not held", what, err)
		}
	}
	if _, err := a.Acquire(ctx, request("r", 0)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a refused release freed the key: %v", err)
	}
	if renewed, err := b.(impls.Renewer).Renew(ctx, held.Grant); err == nil && renewed.Validity < 50*time.Second {
		t.Errorf("renewed for %v", renewed.Validity)
	} else if err != nil && !strings.Contains(err.Error(), "capability") {
		t.Errorf("renew: %v", err)
	}
	if err := b.Release(ctx, held.Grant); err != nil {
		t.Error(err)
	}
	if err := b.Release(ctx, held.Grant); !errors.Is(err, impls.ErrNotHeld) {
		t.Errorf("a second release: %v, want not held", err)
	}
}

func resource(t *testing.T, r workloads.Resource) {
	const key = "a b/ü?"
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	first, err0 := r.Read(ctx, key, 0)
	err1 := r.Write(ctx, key, 1<<40+1, 0)
	second, err2 := r.Read(ctx, key, 0)
	if err := errors.Join(err0, err1, err2, r.Append(ctx, key, 0)); err != nil || first != 0 || second != 1<<40+1 {
		t.Errorf("read %d, then %d, %v", first, second, err)
	}
}

// TestUnderAPause checks the verdicts if a process is paused beyond its lease: mutual exclusion is violated, lease
// exclusion is not.
func TestUnderAPause(t *testing.T) {
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			local(t)
			lock := impls.Impl{Name: name, Store: servers.Redis, Deployment: servers.Single, Program: &impls.Program{Command: command(t)}}
			s := trial.Setting{Run: "examples", Servers: servers.Local, Params: workloads.Defaults(), Trials: 1}
			c := trial.Cell{Lock: lock, Workload: named(t, workloads.All(), func(w workloads.Workload) string { return w.Name }, "counter"),
				Fault: named(t, faults.All(), func(f faults.Fault) string { return f.Name }, "process-pause")}
			out, err := s.Try(t.Context(), c, t.TempDir(), 0, &atomic.Int64{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]checker.Observed{}
			for _, f := range out.Verdict.Findings {
				got[f.Property] = f.Observed
			}
			if got["lease-exclusion"] != checker.Held || got["mutual-exclusion"] != checker.Violated {
				t.Errorf("%v\n%s", got, out.Dir)
			}
		})
	}
}

func named[T any](t *testing.T, all []T, name func(T) string, want string) T {
	t.Helper()
	i := slices.IndexFunc(all, func(one T) bool { return name(one) == want })
	if i < 0 {
		t.Fatalf("unknown name %s", want)
	}
	return all[i]
}
