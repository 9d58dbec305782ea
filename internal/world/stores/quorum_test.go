package stores

import (
	"errors"
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
		if err := n.EndSession(t.Context(), "nobody's"); err == nil {
			t.Error("EndSession without a holder succeeded")
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

// TestEtcdEndsSession checks that EndSession revokes the lease of the first key with the lock's name.
func TestEtcdEndsSession(t *testing.T) {
	g := startQuorum(t, servers.Etcd, servers.Single)
	_, host, _ := strings.Cut(g.URLs()[0], "://")
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{host}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lease, err := c.Grant(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"run:k/1", "run:k2/1"} {
		if _, err := c.Put(t.Context(), key, "", clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
		if lease, err = c.Grant(t.Context(), 60); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Nodes[0].EndSession(t.Context(), "run:k"); err != nil {
		t.Fatal(err)
	}
	left, err := c.Get(t.Context(), "run:", clientv3.WithPrefix())
	if err != nil || len(left.Kvs) != 1 || string(left.Kvs[0].Key) != "run:k2/1" {
		t.Errorf("left: %v, %v", left, err)
	}
}
