package catalog_test

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/world/servers"
)

// open opens a lock of the catalog by name.
func open(t *testing.T, name string, env impls.Env) impls.Lock {
	t.Helper()
	all := catalog.OnRedis()
	impl := all[slices.IndexFunc(all, func(l impls.Impl) bool { return l.Name == name })]
	if env.Rand == nil {
		env.Rand = impls.NewRand(2, uint64(env.Process))
	}
	lock, err := impl.Open(env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	return lock
}

// raw returns a Redis client that sends commands directly to one server, not through a lock.
func raw(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return c
}

// waitUntil waits for a condition, with a generous timeout.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// bothWays runs a test on the emulator and on real servers.
func bothWays(t *testing.T, deployment string, test func(t *testing.T, g *servers.Group)) {
	for _, how := range []string{servers.Embedded, servers.Local} {
		t.Run(how, func(t *testing.T) { test(t, deploy(t, how, deployment)) })
	}
}

func TestRedLockWithDeadServers(t *testing.T) {
	bothWays(t, servers.Five, func(t *testing.T, g *servers.Group) {
		l := open(t, "redlock", impls.Env{Nodes: g.Front()})
		kill := func(nodes ...int) {
			for _, n := range nodes {
				if err := g.Nodes[n].Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		kill(0, 3)
		h, err := l.Acquire(t.Context(), request("a", 5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context(), h.Grant); err != nil {
			t.Error(err)
		}
		kill(1)
		start := time.Now()
		if h, err := l.Acquire(t.Context(), request("b", 300*time.Millisecond)); err == nil {
			t.Errorf("granted by a minority: %+v", h)
		} else if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v to refuse", took)
		}
		for _, n := range []int{2, 4} {
			c := raw(t, g.Nodes[n].URL())
			waitUntil(t, "no token is left on the running servers", func() bool { return errors.Is(c.Get(t.Context(), "k").Err(), redis.Nil) })
		}
	})
}

func TestRedLockWantsAnOddNumber(t *testing.T) {
	all := catalog.OnRedis()
	impl := all[slices.IndexFunc(all, func(l impls.Impl) bool { return l.Name == "redlock" })]
	for _, n := range []int{0, 1, 2, 4, 6} {
		if l, err := impl.Open(impls.Env{Nodes: slices.Repeat([]string{"redis://127.0.0.1:1"}, n), Rand: impls.NewRand(1, 1)}); err == nil {
			t.Errorf("opened on %d servers", n)
			l.Close()
		}
	}
}

// written is a connection that records the token of each SET command sent on it.
type written struct {
	net.Conn
	mu     *sync.Mutex
	tokens *[]string
}

var setToken = regexp.MustCompile(`(?i)\$3\r\nset\r\n\$1\r\nk\r\n\$32\r\n([0-9a-f]{32})\r\n`)

func (w written) Write(b []byte) (int, error) {
	w.mu.Lock()
	for _, m := range setToken.FindAllSubmatch(b, -1) {
		*w.tokens = append(*w.tokens, string(m[1]))
	}
	w.mu.Unlock()
	return w.Conn.Write(b)
}

// TestRedLockFreshTokens checks that RedLock sends one token to all servers in an attempt, and a new token in the next
// attempt.
func TestRedLockFreshTokens(t *testing.T) {
	g := deploy(t, servers.Embedded, servers.Five)
	for _, url := range g.URLs()[:3] {
		if err := raw(t, url).Set(t.Context(), "k", "another's", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var tokens []string
	l := open(t, "redlock", impls.Env{Nodes: g.Front(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return written{c, &mu, &tokens}, err
	}})
	if _, err := l.Acquire(t.Context(), request("a", 300*time.Millisecond)); err == nil {
		t.Error("granted by a minority")
	}
	mu.Lock()
	defer mu.Unlock()
	times := map[string]int{}
	for _, token := range tokens {
		if times[token]++; times[token] > 5 {
			t.Fatalf("token %s was sent %d times to 5 servers", token, times[token])
		}
	}
	if len(times) < 2 {
		t.Errorf("%d attempts seen in %d commands", len(times), len(tokens))
	}
}

func TestRedLockRenew(t *testing.T) {
	bothWays(t, servers.Five, func(t *testing.T, g *servers.Group) {
		l := open(t, "redlock", impls.Env{Nodes: g.Front()})
		h, err := l.Acquire(t.Context(), request("a", 5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		clients := make([]*redis.Client, 5)
		for i, url := range g.URLs() {
			clients[i] = raw(t, url)
			if err := clients[i].PExpire(t.Context(), "k", 5*time.Second).Err(); err != nil {
				t.Fatal(err)
			}
		}
		renewed, err := l.(impls.Renewer).Renew(t.Context(), h.Grant)
		if err != nil || renewed.Validity != h.Validity {
			t.Fatalf("%+v, %v", renewed, err)
		}
		waitUntil(t, "each server has the whole lease", func() bool {
			return !slices.ContainsFunc(clients, func(c *redis.Client) bool { return c.PTTL(t.Context(), "k").Val() < 6*time.Second })
		})
		for _, c := range clients[:3] {
			c.Del(t.Context(), "k")
		}
		if _, err := l.(impls.Renewer).Renew(t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("renewed by a minority: %v", err)
		}
		if n := clients[0].Exists(t.Context(), "k").Val(); n != 0 {
			t.Error("a deleted key exists again")
		}
	})
}

func TestSegmentsInTurn(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		l := open(t, "segmented", impls.Env{Nodes: g.Front()})
		for _, want := range l.(impls.Segmenter).Segments("k") {
			if h, err := l.Acquire(t.Context(), request("a", 0)); err != nil || h.Key != want {
				t.Errorf("granted %q, %v, want %s", h.Key, err, want)
			}
		}
		if h, err := l.Acquire(t.Context(), request("a", 0)); !errors.Is(err, impls.ErrBusy) || h.Key != "k#0" {
			t.Errorf("with all segments taken, the answer is %q, %v", h.Key, err)
		}
		three := open(t, "segmented", impls.Env{Nodes: g.Front(), Params: map[string]string{"segments": "3"}})
		if n := len(three.(impls.Segmenter).Segments("k")); n != 3 {
			t.Errorf("%d segments, want 3", n)
		}
	})
	for _, wrong := range []string{"0", "x", "-1", "1001"} {
		if impls.CheckParams(map[string]string{"segments": wrong}) == nil {
			t.Errorf("segments=%s passes", wrong)
		}
	}
}

// TestWaitWithoutReplica checks an acquire that no replica acknowledges. The lock must delete the key and refuse the
// acquire.
func TestWaitWithoutReplica(t *testing.T) {
	g := deploy(t, servers.Local, servers.Replica)
	l := open(t, "set-px-wait", impls.Env{Nodes: g.Front()})
	if err := g.Nodes[1].Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), request("a", 0)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("without a replica: %v", err)
	}
	if token, _, err := l.(impls.Prober).Probe(t.Context(), "k"); token != "" || err != nil {
		t.Errorf("%q stays, %v", token, err)
	}
}
