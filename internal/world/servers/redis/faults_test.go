package redis

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/internal/world/clock"
	"lockbench/internal/world/servers"
)

func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has reports whether a server has a key.
func has(t *testing.T, n servers.Node, key string) bool {
	t.Helper()
	there, err := client(t, n.URL()).Exists(t.Context(), key).Result()
	if err != nil {
		t.Errorf("%s: %v", n.URL(), err)
	}
	return there == 1
}

func TestPause(t *testing.T) {
	onLinux(t)
	n := startGroup(t, servers.Local, servers.Single).Nodes[0].(*node)
	answers := func(within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := askInfo(ctx, n.Addr(), "server")
		return err == nil
	}
	must(t, n.Pause())
	if answers(100*time.Millisecond) || !n.Alive() {
		t.Errorf("paused; alive: %t", n.Alive())
	}
	must(t, n.Resume())
	if !answers(servers.AskTimeout) || !n.Alive() {
		t.Errorf("resumed; alive: %t", n.Alive())
	}
	must(t, n.Pause())
	must(t, n.Kill())
	for _, do := range []func() error{n.Pause, n.Resume} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("signal to a dead node: %v", err)
		}
	}
	if n.Alive() {
		t.Error("a killed node is alive")
	}
}

func TestRestartKeepsDurableData(t *testing.T) {
	for _, deployment := range []string{servers.Single, servers.Durable} {
		t.Run(deployment, func(t *testing.T) {
			n := startGroup(t, servers.Local, deployment).Nodes[0]
			c := client(t, n.URL())
			first := n.(*node).Pid()
			for _, killed := range []bool{false, true} {
				must(t, c.Set(t.Context(), "key", "value", time.Hour).Err())
				if killed {
					must(t, n.Kill())
				}
				must(t, n.Restart(t.Context()))
				left, err := client(t, n.URL()).PTTL(t.Context(), "key").Result()
				if kept := left > 50*time.Minute && left <= time.Hour; err != nil || kept != (deployment == servers.Durable) {
					t.Errorf("killed before: %t; PTTL %v, %v", killed, left, err)
				}
			}
			if n.(*node).Pid() == first || !n.Alive() {
				t.Errorf("process %d was not replaced, or is dead", first)
			}
			must(t, n.Stop())
			if err := n.Restart(t.Context()); err == nil || n.Alive() {
				t.Errorf("restart after Stop: %v", err)
			}
		})
	}
}

func TestRestartPausedNode(t *testing.T) {
	onLinux(t)
	n := startGroup(t, servers.Local, servers.Single).Nodes[0]
	must(t, n.Pause())
	must(t, n.Restart(t.Context()))
	has(t, n, "key") // wait until the server answers again
}

func TestMoveClock(t *testing.T) {
	onLinux(t)
	g := startSpec(t, servers.Spec{How: servers.Local, Store: servers.Redis, Deployment: servers.Five, Clock: true})
	n, other := g.Nodes[0], g.Nodes[1]
	c := client(t, n.URL())
	const lease, far = 30 * time.Second, time.Hour
	for _, node := range []servers.Node{n, other} {
		must(t, client(t, node.URL()).Set(t.Context(), "key", "value", lease).Err())
	}
	must(t, n.MoveClock(t.Context(), far))
	if has(t, n, "key") || !has(t, other, "key") {
		t.Errorf("after a move beyond the lease: key on the node %t, on another node %t", has(t, n, "key"), has(t, other, "key"))
	}
	must(t, c.Set(t.Context(), "key", "value", lease).Err())
	must(t, n.MoveClock(t.Context(), -2*far)) // together, both moves set the clock back by one hour
	if left := c.PTTL(t.Context(), "key").Val(); left <= 2*far || left > 2*far+lease {
		t.Errorf("after a move back the key has %v left", left)
	}
	must(t, n.Restart(t.Context()))
	now, err := client(t, n.URL()).Time(t.Context()).Result()
	if behind := time.Since(now); err != nil || behind < far-time.Minute || behind > far+time.Minute {
		t.Errorf("after a restart the clock is %v behind, %v", behind, err)
	}
}

func TestMoveClockNeedsSpec(t *testing.T) {
	n := startGroup(t, servers.Local, servers.Single).Nodes[0]
	if err := n.MoveClock(t.Context(), time.Hour); err == nil || !strings.Contains(err.Error(), "without Spec.Clock") {
		t.Error(err)
	}
}

// TestUnverifiedClockMove checks that MoveClock returns an error if the server's clock does not change.
func TestUnverifiedClockMove(t *testing.T) {
	onLinux(t)
	n := startGroup(t, servers.Local, servers.Single).Nodes[0].(*node)
	var err error
	n.offset, err = clock.NewOffset(clockFile(n.Process))
	must(t, err)
	if err := n.MoveClock(t.Context(), time.Hour); err == nil || !strings.Contains(err.Error(), "no effect within") {
		t.Error(err)
	}
}

func TestEvict(t *testing.T) {
	for name, busy := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			n := startGroup(t, servers.Local, servers.Single).Nodes[0]
			c := client(t, n.URL())
			must(t, c.ConfigSet(t.Context(), "maxmemory-policy", "volatile-ttl").Err())
			must(t, c.Set(t.Context(), "key", "value", time.Hour).Err())
			if busy {
				defer keepUsing(t, n, "key")()
			}
			must(t, n.Evict(t.Context(), "key"))
			if has(t, n, "key") {
				t.Error("the key was not evicted")
			}
			before := map[string]string{"maxmemory": "0", "maxmemory-policy": "volatile-ttl", "notify-keyspace-events": ""}
			for setting, want := range before {
				if got := c.ConfigGet(t.Context(), setting).Val()[setting]; got != want {
					t.Errorf("%s is %q, was %q", setting, got, want)
				}
			}
			if left := c.Keys(t.Context(), "*").Val(); len(left) > 0 {
				t.Errorf("keys left: %v", left)
			}
		})
	}
}

// keepUsing reads a key repeatedly until stop is called, like clients that wait for a lock. Tests use it to check that a
// key in use can be evicted.
func keepUsing(t *testing.T, n servers.Node, key string) (stop func()) {
	c := client(t, n.URL())
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			c.Get(ctx, key)
		}
	})
	return func() { cancel(); done.Wait() }
}

func TestEvictMissingKey(t *testing.T) {
	n := startGroup(t, servers.Local, servers.Single).Nodes[0]
	if err := n.Evict(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "no such key") {
		t.Error(err)
	}
}

// TestFailedEvictRestoresMemory checks that a failed eviction restores the memory limit. On a replica, Evict fails,
// because replicas reject writes.
func TestFailedEvictRestoresMemory(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Replica)
	set(t, g.Nodes[0], "key", 1)
	n := g.Nodes[1]
	if err := n.Evict(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "READONLY") {
		t.Error(err)
	}
	c := client(t, n.URL())
	for setting, want := range map[string]string{"maxmemory": "0", "maxmemory-policy": "noeviction", "notify-keyspace-events": ""} {
		if got := c.ConfigGet(t.Context(), setting).Val()[setting]; got != want {
			t.Errorf("%s is %q, was %q", setting, got, want)
		}
	}
	if !has(t, n, "key") {
		t.Error("the key is gone")
	}
}

func TestUnsupportedFaultsAreRefused(t *testing.T) {
	given := startExternalOn(t)
	for name, g := range map[string]*servers.Group{"embedded": startGroup(t, servers.Embedded, servers.Five), "external": given} {
		n := g.Nodes[0]
		_, awaited := g.AwaitPromotion(t.Context())
		for what, err := range map[string]error{
			"pause": n.Pause(), "resume": n.Resume(), "restart": n.Restart(t.Context()),
			"jump": n.MoveClock(t.Context(), time.Hour), "evict": n.Evict(t.Context(), "key"),
			"stall": g.Stall(t.Context(), 0), "promote": g.Promote(t.Context(), 0), "await": awaited,
		} {
			if err == nil || !strings.Contains(err.Error(), "started by lockbench") || strings.Contains(err.Error(), "s3same") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if !n.Alive() {
			t.Errorf("%s: a node is dead", name)
		}
	}
}

func TestEmbeddedIsDeadWhenKilled(t *testing.T) {
	n := startGroup(t, servers.Embedded, servers.Single).Nodes[0]
	must(t, n.Kill())
	if n.Alive() {
		t.Error("the node is alive after Kill")
	}
}
