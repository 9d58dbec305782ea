package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/proxy"
	"lockbench/workloads"
)

// onLink calls f in virtual time with a client in process 0 and the link from this process to the server.
func onLink(t *testing.T, f func(t *testing.T, n *network, c *redis.Client, l *link)) {
	t.Helper()
	inTest(t, 1, 1, func(t *testing.T, n *network) {
		c := client(t, n, 0, 0)
		defer c.Close()
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		f(t, n, c, n.links[0][0])
	})
}

// testContext returns a context that times out after one second.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

// value returns the value of a key in the server.
func value(n *network, key string) string {
	v, _ := n.nodes[0].running().Get(key)
	return v
}

// TestRules checks fault rules that delay or drop the nth command or its reply, or close the connection. Other
// commands and replies must not be affected.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		at     proxy.Point
		fate   proxy.Fate
		takes  time.Duration
		err    bool
		stored string // value of the key after the second SET command, which writes 2 and may be lost
	}{
		"delayed": {proxy.Request, proxy.Pass, time.Minute, false, "2"},
		"closed":  {proxy.Request, proxy.Close, 0, true, "1"},
		"lost":    {proxy.Reply, proxy.Close, 0, true, "2"},
		"silent":  {proxy.Reply, proxy.Silent, time.Second, true, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			onLink(t, func(t *testing.T, n *network, cl *redis.Client, l *link) {
				l.On(proxy.Rule{Commands: []string{"set"}, Nth: 2, Point: c.at, Do: func(ctx context.Context, cmd proxy.Command) proxy.Fate {
					if cmd.Name != "SET" || cmd.Args[2] != "2" || ctx.Err() != nil {
						t.Errorf("called with %+v", cmd)
					}
					if c.fate == proxy.Pass {
						time.Sleep(c.takes)
					}
					return c.fate
				}})
				if err := cl.Set(t.Context(), "k", 1, 0).Err(); err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if c.fate == proxy.Silent {
					ctx = testContext(t)
				} else {
					cl = cl.WithTimeout(time.Hour)
				}
				start := time.Now()
				err := cl.Set(ctx, "k", 2, 0).Err()
				if took := time.Since(start); (err != nil) != c.err || took < c.takes || took > c.takes+10*latency {
					t.Errorf("%v after %v", err, took)
				}
				if got := value(n, "k"); got != c.stored {
					t.Errorf("stored %q, want %q", got, c.stored)
				}
				if err := cl.Set(t.Context(), "k", 3, 0).Err(); err != nil || value(n, "k") != "3" {
					t.Errorf("the third command: %v", err)
				}
			})
		})
	}
}

// TestCut checks that a cut drops data of one process in one or both directions. Healing the cut must close the affected
// connections.
func TestCut(t *testing.T) {
	for way, stored := range map[proxy.Direction]string{proxy.Both: "", proxy.ToClient: "1"} {
		onLink(t, func(t *testing.T, n *network, c *redis.Client, l *link) {
			other := client(t, n, 1, 0)
			defer other.Close()
			l.Cut(way)
			if err := c.Set(testContext(t), "k", 1, 0).Err(); err == nil {
				t.Error("the command was answered")
			}
			if got := value(n, "k"); got != stored {
				t.Errorf("cut %d: stored %q, want %q", way, got, stored)
			}
			if err := other.Ping(t.Context()).Err(); err != nil {
				t.Error(err)
			}
			time.AfterFunc(time.Minute, func() { l.Cut(proxy.Open) })
			start := time.Now()
			if err := c.WithTimeout(time.Hour).Ping(t.Context()).Err(); err == nil || time.Since(start) > time.Minute+10*latency {
				t.Errorf("the pending command after healing: %v after %v", err, time.Since(start))
			}
			if err := c.Ping(testContext(t)).Err(); err != nil {
				t.Errorf("a command after healing: %v", err)
			}
		})
	}
}

// TestSlow checks that Delay delays messages in both directions.
func TestSlow(t *testing.T) {
	onLink(t, func(t *testing.T, _ *network, c *redis.Client, l *link) {
		l.Delay(time.Second / 2)
		start := time.Now()
		if err := c.Ping(t.Context()).Err(); err != nil || time.Since(start) < time.Second || time.Since(start) > time.Second+10*latency {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestPauses checks pauses of a process and of a server. A paused process must neither send nor read until it is
// resumed. A paused server must reply after it is resumed.
func TestPauses(t *testing.T) {
	onLink(t, func(t *testing.T, n *network, c *redis.Client, l *link) {
		c = c.WithTimeout(time.Second) // the timeout is shorter than the pause
		atReply := func() {
			l.On(proxy.Rule{Commands: []string{"SET"}, Nth: 1, Point: proxy.Reply, Do: func(context.Context, proxy.Command) proxy.Fate {
				n.processes[0].pause()
				return proxy.Pass
			}})
		}
		for _, who := range []struct {
			name   string
			pause  func()
			stored bool // whether the command reaches the server during the pause
		}{
			// This case must come first, because it needs an open connection. On a new connection, the client sends
			// other commands before SET.
			{"the process", n.processes[0].pause, false},
			{"the answer", atReply, true},
		} {
			name := who.name
			n.nodes[0].running().Del("k")
			who.pause()
			time.AfterFunc(time.Minute, func() {
				if stored := value(n, "k") != ""; stored != who.stored {
					t.Errorf("%s: stored during the pause: %t", name, stored)
				}
				n.resumeProcess(0)
			})
			start := time.Now()
			err := c.Set(context.Background(), "k", 1, 0).Err()
			if took := time.Since(start); took < time.Minute || took > time.Minute+10*latency {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			time.Sleep(time.Second)
			if value(n, "k") != "1" {
				t.Errorf("%s: the command did not arrive", name)
			}
		}
		n.nodes[0].pause()
		time.AfterFunc(time.Minute, func() { n.resumeNode(0) })
		start := time.Now()
		if err := c.WithTimeout(time.Hour).Ping(t.Context()).Err(); err != nil || time.Since(start) < time.Minute {
			t.Errorf("the server: %v after %v", err, time.Since(start))
		}
	})
}

// TestKilledProcess checks that a killed process receives no replies and cannot connect.
func TestKilledProcess(t *testing.T) {
	onLink(t, func(t *testing.T, n *network, c *redis.Client, _ *link) {
		time.AfterFunc(time.Second, func() { n.killProcess(0) })
		start := time.Now()
		if err := c.BLPop(t.Context(), 0, "empty").Err(); err == nil || time.Since(start) > time.Second+latency {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := c.Ping(t.Context()).Err(); err == nil {
			t.Error("it connected again")
		}
	})
}

// TestServers checks a restart, a fail-over to a replica that has the leases, a clock jump, and an eviction.
func TestServers(t *testing.T) {
	onLink(t, func(t *testing.T, n *network, c *redis.Client, _ *link) {
		node, ctx := n.nodes[0], t.Context()
		fill := func() {
			c.Set(ctx, "text", "x", time.Minute)
			c.HSet(ctx, "hash", "f", "v")
			c.RPush(ctx, "list", "a", "b")
		}
		fill()
		copied, err := node.contents()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		node.kill()
		if err := c.Ping(ctx).Err(); err == nil {
			t.Error("a dead server answers")
		}
		node.restart(copied)
		left, _ := c.PTTL(ctx, "text").Result()
		list, _ := c.LRange(ctx, "list", 0, -1).Result()
		if value(n, "text") != "x" || left.Round(time.Second) != 40*time.Second || c.HGet(ctx, "hash", "f").Val() != "v" || strings.Join(list, "") != "ab" {
			t.Errorf("after the fail-over: %q for %v, %v", value(n, "text"), left, list)
		}
		if err := node.jump(-time.Minute); err != nil || c.PTTL(ctx, "text").Val().Round(time.Second) != 100*time.Second {
			t.Errorf("clock back: %v, %v left", err, c.PTTL(ctx, "text").Val())
		}
		if ahead := time.Until(c.Time(ctx).Val()); ahead.Round(time.Second) != -time.Minute {
			t.Errorf("a clock that was set back by a minute is %v ahead", ahead)
		}
		if err := node.jump(2 * time.Minute); err != nil || value(n, "text") != "" || c.TTL(ctx, "hash").Val() != -1 {
			t.Errorf("clock forward: %v, %q", err, value(n, "text"))
		}
		if node.evict("hash") != nil || node.evict("hash") == nil {
			t.Error("a key was evicted twice")
		}
		node.kill()
		node.restart(nil)
		if n := c.DBSize(ctx).Val(); n != 0 {
			t.Errorf("%d keys after a restart", n)
		}
	})
}

// TestRefused checks that an unsupported trial is refused with the reason.
func TestRefused(t *testing.T) {
	var lock impls.Impl
	for _, l := range catalog.OnRedis() {
		if l.Name == "set-px-lua" {
			lock = l
		}
	}
	program := lock
	program.Open = nil
	does := func(a faults.Action) faults.Plan { return faults.Plan{Steps: []faults.Step{{Do: a}}} }
	for want, x := range map[string]Trial{
		"separate program":            {Lock: program},
		"has no disk":                 {Lock: lock, Deployment: "durable"},
		"no Sentinels":                {Lock: lock, Deployment: "sentinel"},
		"deployment moon":             {Lock: lock, Deployment: "moon"},
		"action sing cannot":          {Lock: lock, Plan: does(faults.Action{Verb: "sing"})},
		"needs a deployment":          {Lock: lock, Plan: does(faults.Action{Verb: faults.Failover, Nodes: []int{1}})},
		"names server 1, but there":   {Lock: lock, Plan: does(faults.Action{Verb: faults.Down, Nodes: []int{1}})},
		"names process 9, but there":  {Lock: lock, Plan: does(faults.Action{Verb: faults.Kill, Process: 9})},
		"action full cannot":          {Lock: lock, Plan: does(faults.Action{Verb: faults.Full, Nodes: []int{0}})},
		"action unseat cannot":        {Lock: lock, Plan: does(faults.Action{Verb: faults.Unseat, Nodes: []int{0}})},
		"names process 99, but there": {Lock: lock, Plan: does(faults.Action{Verb: faults.Cut, Process: 99})},
	} {
		x.Params = workloads.Defaults()
		if _, err := x.Run(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// TestPanics checks that a panic in a lock becomes an error.
func TestPanics(t *testing.T) {
	trial := Trial{Workload: counter(t), Params: workloads.Defaults(),
		Lock: impls.Impl{Name: "odd", Open: func(impls.Env) (impls.Lock, error) { panic("out of cheese") }}}
	if _, err := trial.Run(nil); err == nil || !strings.Contains(err.Error(), "out of cheese") {
		t.Error(err)
	}
	failing := errors.New("no such lock")
	trial.Lock.Open = func(impls.Env) (impls.Lock, error) { return nil, failing }
	if _, err := trial.Run(nil); !errors.Is(err, failing) {
		t.Error(err)
	}
}
