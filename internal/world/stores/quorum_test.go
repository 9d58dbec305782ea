package stores

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockbench/internal/world/servers"
)

// startQuorum starts an ensemble. If the store is not installed, the test is skipped. If LOCKBENCH_REQUIRE names the
// store, the test fails instead.
func startQuorum(t *testing.T, store, deployment string) *servers.Group {
	t.Helper()
	if err := Missing(store); err != nil {
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), store) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startSpec(t, servers.Spec{How: servers.Local, Store: store, Deployment: deployment, Self: self})
}

// quorumClient writes to and reads from any server of an ensemble.
type quorumClient struct {
	write func(key, value string) error
	read  func(key string) (string, error)
}

func quorumClientOf(t *testing.T, g *servers.Group, store string) quorumClient {
	t.Helper()
	var hosts []string
	for _, url := range g.URLs() {
		_, host, _ := strings.Cut(url, "://")
		hosts = append(hosts, host)
	}
	if store == servers.Etcd {
		c, err := clientv3.New(clientv3.Config{Endpoints: hosts, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return quorumClient{
			func(key, value string) error { _, err := c.Put(t.Context(), key, value); return err },
			func(key string) (string, error) {
				r, err := c.Get(t.Context(), key)
				if err != nil || len(r.Kvs) == 0 {
					return "", errors.Join(err, errors.New("no such key"))
				}
				return string(r.Kvs[0].Value), nil
			}}
	}
	c, _, err := zk.Connect(hosts, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return quorumClient{
		func(key, value string) error {
			_, err := c.Create("/"+key, []byte(value), 0, zk.WorldACL(zk.PermAll))
			return err
		},
		func(key string) (string, error) { value, _, err := c.Get("/" + key); return string(value), err },
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func eachQuorum(t *testing.T, test func(t *testing.T, store string)) {
	for _, store := range []string{servers.ZooKeeper, servers.Etcd} {
		t.Run(store, func(t *testing.T) { test(t, store) })
	}
}

// TestQuorumServer checks that servers report counters, can be paused, and keep acknowledged writes when they are
// killed.
func TestQuorumServer(t *testing.T) {
	eachQuorum(t, func(t *testing.T, store string) {
		g := startQuorum(t, store, servers.Single)
		n := g.Nodes[0]
		if !strings.HasPrefix(n.URL(), store+"://127.0.0.1:") || !strings.HasPrefix(g.Server, store+" 3.") || g.Durability == "" {
			t.Errorf("%s is %q: %q", n.URL(), g.Server, g.Durability)
		}
		c := quorumClientOf(t, g, store)
		if err := c.write("warm", "up"); err != nil {
			t.Fatal(err)
		}
		counted := map[string]string{servers.ZooKeeper: "calls.update", servers.Etcd: "calls.Put"}[store]
		before, err := n.Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const writes = 5
		for i := range writes {
			if err := c.write(string(rune('a'+i)), "kept"); err != nil {
				t.Fatal(err)
			}
		}
		after, err := n.Counters(t.Context())
		if err != nil || after[counted]-before[counted] != writes {
			t.Errorf("%d writes were counted as %v, %v", writes, after[counted]-before[counted], err)
		}
		if err := n.Pause(); err != nil {
			t.Fatal(err)
		}
		if err := n.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := n.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "the acknowledged write is there after the restart", func() bool {
			value, err := c.read("a")
			return err == nil && value == "kept"
		})
		if err := n.EndSession(t.Context(), "nobody's", servers.Holder); !errors.Is(err, servers.ErrNoHolder) {
			t.Errorf("EndSession without a holder: %v", err)
		}
	})
}

// TestKillLeader checks that another server becomes the leader after the leader is killed. The new leader must have the
// acknowledged writes.
func TestKillLeader(t *testing.T) {
	eachQuorum(t, func(t *testing.T, store string) {
		g := startQuorum(t, store, servers.Three)
		if len(g.Nodes) != 3 {
			t.Fatalf("%d servers", len(g.Nodes))
		}
		c := quorumClientOf(t, g, store)
		if err := c.write("a", "kept"); err != nil {
			t.Fatal(err)
		}
		if err := g.KillLeader(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead := 0
		for _, n := range g.Nodes {
			if !n.Alive() {
				dead++
			}
		}
		if dead != 1 {
			t.Errorf("%d servers are dead", dead)
		}
		waitUntil(t, "the other servers have the acknowledged write", func() bool {
			value, err := c.read("a")
			return err == nil && value == "kept"
		})
	})
}

// TestQuorumEndsSession checks that EndSession ends the session of the holder or of the last waiter, and no other.
func TestQuorumEndsSession(t *testing.T) {
	eachQuorum(t, func(t *testing.T, store string) {
		g := startQuorum(t, store, servers.Single)
		var left []func() bool // reports whether the entry of each client still exists
		for range 3 {
			left = append(left, enqueue(t, g, store, "run:k"))
		}
		other := enqueue(t, g, store, "run:k2")
		want := func(what string, want ...bool) {
			t.Helper()
			for i, exists := range left {
				if exists() != want[i] {
					t.Errorf("%s: entry %d exists: %t", what, i, !want[i])
				}
			}
		}
		end := func(of servers.Role) error { return g.Nodes[0].EndSession(t.Context(), "run:k", of) }
		if err := end(servers.LastWaiter); err != nil {
			t.Error(err)
		}
		want("after the end of the last waiter", true, true, false)
		if err := end(servers.Holder); err != nil {
			t.Error(err)
		}
		want("after the end of the holder", false, true, false)
		if err := end(servers.LastWaiter); !errors.Is(err, servers.ErrNoWaiter) {
			t.Errorf("without a waiter: %v", err)
		}
		if !other() {
			t.Error("the session at another key has ended")
		}
	})
}

// enqueue adds an entry to the queue of a lock, in a separate session. The returned function reports whether it exists.
func enqueue(t *testing.T, g *servers.Group, store, key string) (exists func() bool) {
	t.Helper()
	_, host, _ := strings.Cut(g.URLs()[0], "://")
	if store == servers.ZooKeeper {
		c, _, err := zk.Connect([]string{host}, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		if _, err := c.Create("/"+key, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(err)
		}
		path, err := c.Create("/"+key+"/x-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		observer, _, err := zk.Connect([]string{host}, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(observer.Close)
		return func() bool {
			found, _, err := observer.Exists(path)
			return found || err != nil
		}
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{host}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	lease, err := c.Grant(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s/%x", url.PathEscape(key), lease.ID)
	if _, err := c.Put(t.Context(), name, "", clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		got, err := c.Get(t.Context(), name)
		return err != nil || len(got.Kvs) > 0
	}
}
