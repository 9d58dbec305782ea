package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

// needRedis skips the test if redis-server is missing. If LOCKBENCH_REQUIRE names redis-server, it fails the test
// instead.
func needRedis(t *testing.T) {
	t.Helper()
	need(t, program, program, "apt install redis-server")
}

// need skips the test if a program is missing. If LOCKBENCH_REQUIRE names the program, it fails the test instead.
func need(t *testing.T, program, name, how string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	missing := program + " is not on the PATH: " + how
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), name) {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// startGroup starts a deployment in a temporary folder. At the end of the test, it checks that the folder is empty.
func startGroup(t *testing.T, how, deployment string) *servers.Group {
	t.Helper()
	return startSpec(t, servers.Spec{How: how, Store: servers.Redis, Deployment: deployment})
}

func startSpec(t *testing.T, s servers.Spec) *servers.Group {
	t.Helper()
	if s.How == servers.Local && s.Store == servers.Redis {
		needRedis(t)
	}
	if s.Clock {
		need(t, "cc", "gcc", "apt install gcc libc6-dev")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	g, err := servers.Start(t.Context(), Store(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
			t.Errorf("files left: %v", left)
		}
	})
	return g
}

func noEnv(string) string { return "" }

func targets(t *testing.T, list string) []servers.Target {
	t.Helper()
	of := Store()
	all, err := of.Targets(list, "", noEnv)
	must(t, err)
	return all
}

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	opts.DialerRetries, opts.MaxRetries = 1, -1
	c := redis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return c
}

func listens(t *testing.T, rawURL string) bool {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// waitUntil waits until a condition is true. It fails the test after 20 seconds.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func TestStartAndStop(t *testing.T) {
	for _, how := range []string{servers.Embedded, servers.Local} {
		t.Run(how, func(t *testing.T) {
			g := startGroup(t, how, servers.Five)
			if len(g.Nodes) != 5 {
				t.Errorf("%d nodes", len(g.Nodes))
			}
			if g.How != how || !strings.Contains(g.Server, "("+how) {
				t.Errorf("how %q, server %q", g.How, g.Server)
			}
			for i, url := range g.URLs() {
				c := client(t, url)
				if ok, err := c.SetNX(t.Context(), "key", i, 0).Result(); err != nil || !ok {
					t.Errorf("node %d shares its keys: %t, %v", i, ok, err)
				}
			}
			for range 2 { // the second call of Stop must have no effect
				if err := g.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			for _, url := range g.URLs() {
				if listens(t, url) {
					t.Errorf("%s still listens", url)
				}
			}
		})
	}
}

func TestKill(t *testing.T) {
	for _, how := range []string{servers.Embedded, servers.Local} {
		t.Run(how, func(t *testing.T) {
			g := startGroup(t, how, servers.Five)
			dead, alive := client(t, g.Nodes[0].URL()), client(t, g.Nodes[1].URL())
			if err := dead.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := g.Nodes[0].Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if err := dead.Ping(t.Context()).Err(); err == nil {
				t.Error("the killed node answers")
			}
			if err := alive.Ping(t.Context()).Err(); err != nil {
				t.Errorf("the other node: %v", err)
			}
			if _, err := g.Nodes[0].Counters(t.Context()); err == nil {
				t.Error("the killed node counts")
			}
		})
	}
}

func TestKeysExpireByTheClock(t *testing.T) {
	for _, how := range []string{servers.Embedded, servers.Local} {
		t.Run(how, func(t *testing.T) {
			c := client(t, startGroup(t, how, servers.Single).URLs()[0])
			if err := c.Set(t.Context(), "key", "value", 20*time.Millisecond).Err(); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, "the key expires", func() bool {
				return errors.Is(c.Get(t.Context(), "key").Err(), redis.Nil)
			})
		})
	}
}

func TestAutoResolves(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if g := startGroup(t, servers.Auto, servers.Single); g.How != servers.Embedded {
		t.Errorf("without redis-server: %s", g.How)
	}
}

func TestAutoPrefersTheRealServer(t *testing.T) {
	needRedis(t)
	if g := startGroup(t, servers.Auto, servers.Single); g.How != servers.Local {
		t.Errorf("with redis-server: %s", g.How)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, test := range []struct {
		spec servers.Spec
		says string
	}{
		{servers.Spec{How: "podman", Store: servers.Redis, Deployment: servers.Single}, `unknown way "podman" (known: auto, embedded, local, external, docker)`},
		{servers.Spec{How: "", Store: servers.Redis, Deployment: ""}, `unknown way ""`},
		{servers.Spec{How: servers.Auto, Store: servers.Redis, Deployment: "seven"}, `unknown deployment "seven" (known for redis: single, replica, five, two-replicas, sentinel, durable, valkey, five-delayed, cluster)`},
		{servers.Spec{How: servers.Auto, Store: servers.Redis, Deployment: servers.Replica}, "the emulator has no replication: apt install redis-server"},
		{servers.Spec{How: servers.Local, Store: servers.Redis, Deployment: servers.Single}, "apt install redis-server"},
	} {
		if g, err := servers.Start(t.Context(), Store(), test.spec); err == nil {
			t.Errorf("%+v: started", test.spec)
			_ = g.Stop()
		} else if !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, want %q", test.spec, err, test.says)
		}
	}
}

func TestEmbeddedVersionMatchesModule(t *testing.T) {
	mod, err := os.ReadFile("../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "alicebob/miniredis/v2 v")
	version, _, _ := strings.Cut(strings.Fields(rest)[0], " ")
	if !strings.HasPrefix(emulator, "miniredis "+version+" ") {
		t.Errorf("go.mod has %s, the report would say %s", version, emulator)
	}
}

func TestEmbeddedHasNoCounters(t *testing.T) {
	if _, err := startGroup(t, servers.Embedded, servers.Single).Nodes[0].Counters(t.Context()); !errors.Is(err, servers.ErrNoCounters) {
		t.Error(err)
	}
}

func TestLocalCounters(t *testing.T) {
	n := startGroup(t, servers.Local, servers.Single).Nodes[0]
	read := func() map[string]float64 {
		all, err := n.Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := read()
	c := client(t, n.URL())
	for range 7 {
		if err := c.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Eval(t.Context(), `return redis.call("get", KEYS[1])`, []string{"key"}).Err(); err != nil {
		t.Fatal(err)
	}
	after := read()
	for name, want := range map[string]float64{"calls.set": 7, "calls.eval": 1, "calls.get": 1} {
		if got := after[name] - before[name]; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"used_cpu_user", "used_cpu_sys", "total_net_input_bytes",
		"total_net_output_bytes", "total_commands_processed"} {
		if _, ok := before[name]; !ok || after[name] < before[name] {
			t.Errorf("%s: from %v (there: %t) to %v", name, before[name], ok, after[name])
		}
	}
}

func TestCountersOfSilentServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := askInfo(ctx, silent.Addr().String(), "server"); err == nil {
		t.Error("a truncated answer was accepted")
	}
}

func TestReplicaFollows(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Replica)
	if len(g.Nodes) != 2 {
		t.Fatalf("%d nodes", len(g.Nodes))
	}
	// Use one connection, because WAIT covers only the writes of one connection.
	conn := client(t, g.Nodes[0].URL()).Conn()
	defer conn.Close()
	if err := conn.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Wait(t.Context(), 1, 10*time.Second).Result(); n != 1 || err != nil {
		t.Errorf("%d replicas acknowledged: %v", n, err)
	}
	if value, err := client(t, g.Nodes[1].URL()).Get(t.Context(), "key").Result(); value != "value" {
		t.Errorf("the replica has %q, %v", value, err)
	}
}

func TestEmulatorDoesNotReplicate(t *testing.T) {
	if g, err := servers.Start(t.Context(), Store(), servers.Spec{How: servers.Embedded, Store: servers.Redis, Deployment: servers.Replica}); err == nil {
		t.Error("started")
		_ = g.Stop()
	} else if !errors.Is(err, servers.ErrUnsupported) {
		t.Error(err)
	}
}

func TestSupported(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	own := func(n int) (r servers.Remote) {
		for i := range n {
			r.Targets = append(r.Targets, targets(t, fmt.Sprintf("redis://host%d", i))...)
		}
		return r
	}
	for _, test := range []struct {
		spec servers.Spec
		says string // error for an unsupported Spec; "": it is supported
	}{
		{servers.Spec{How: servers.Local, Deployment: servers.Replica}, ""},
		{servers.Spec{How: servers.Local, Deployment: servers.Five}, ""},
		{servers.Spec{How: servers.Local}, ""},
		{servers.Spec{How: servers.Local, Deployment: servers.Sentinel}, ""},
		{servers.Spec{How: servers.Local, Deployment: "seven"}, "unknown deployment"},
		{servers.Spec{How: servers.Local, Clock: true}, "apt install gcc libc6-dev"},
		{servers.Spec{How: servers.Embedded, Deployment: servers.Single}, ""},
		{servers.Spec{How: servers.Embedded, Deployment: servers.FiveDelayed}, ""},
		{servers.Spec{How: servers.Embedded, Deployment: servers.Replica}, "the emulator has no replication: apt install redis-server"},
		{servers.Spec{How: servers.Embedded, Deployment: servers.TwoReplicas}, "the emulator has no replication"},
		{servers.Spec{How: servers.Embedded, Deployment: servers.Sentinel}, "the emulator has no replication"},
		{servers.Spec{How: servers.Embedded, Deployment: servers.Durable}, "the emulator has no durability"},
		{servers.Spec{How: servers.Embedded, Clock: true}, "the emulator's clock cannot be moved"},
		{servers.Spec{How: servers.Auto, Deployment: servers.Replica}, "the emulator has no replication"},
		{servers.Spec{How: servers.External, Deployment: servers.Five, Remote: own(5)}, ""},
		{servers.Spec{How: servers.External, Deployment: servers.Five, Remote: own(4)}, "needs 5 servers, but --redis names 4"},
		{servers.Spec{How: servers.External, Deployment: servers.Sentinel, Remote: own(5)}, "replication is not supported on your own servers"},
		{servers.Spec{How: servers.External, Deployment: servers.Durable, Remote: own(5)}, "durability is not supported on your own servers"},
		{servers.Spec{How: servers.External, Clock: true, Remote: own(1)}, "the clock of your own server cannot be moved"},
	} {
		test.spec.Store = servers.Redis
		switch err := servers.Supported(Store(), test.spec); {
		case test.says == "" && err != nil, test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%+v: %v, want %q", test.spec, err, test.says)
		}
	}
}
