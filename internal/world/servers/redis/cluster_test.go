package redis

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

// asOne returns a client for the whole cluster. The client follows redirections between nodes.
func asOne(t *testing.T, g *servers.Group) *redis.ClusterClient {
	t.Helper()
	var addrs []string
	for _, n := range g.Nodes {
		addrs = append(addrs, n.(*node).Addr())
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, MaxRedirects: 8})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestOrderByKey(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Cluster)
	if len(g.Nodes) != 6 || len(g.Front()) != 6 {
		t.Fatalf("%d nodes, %d to ask", len(g.Nodes), len(g.Front()))
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		must(t, g.OrderByKey(t.Context(), key))
		c := client(t, g.Nodes[0].URL())
		must(t, c.Set(t.Context(), key, "value", 0).Err())
		if n := set(t, g.Nodes[0], "{"+key+"}", 1); n != 1 {
			t.Errorf("%d replicas acknowledged", n)
		}
		following := client(t, g.Nodes[1].URL()).Conn()
		defer following.Close()
		must(t, following.ReadOnly(t.Context()).Err())
		if v, err := following.Get(t.Context(), key).Result(); v != "value" {
			t.Errorf("the replica of %q has %q, %v", key, v, err)
		}
		err := client(t, g.Nodes[2].URL()).Set(t.Context(), key, "value", 0).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "MOVED") {
			t.Errorf("another primary has %q too: %v", key, err)
		}
	}
	count, err := g.Nodes[0].Counters(t.Context())
	must(t, err)
	if count["calls.set"] < 1 {
		t.Errorf("%v", count)
	}
}

// TestStalledClusterReplica checks a replica that is promoted after Stall. It must lack the writes made after Stall and
// have all earlier writes.
func TestStalledClusterReplica(t *testing.T) {
	for _, stalled := range []bool{true, false} {
		g := startGroup(t, servers.Local, servers.Cluster)
		must(t, g.OrderByKey(t.Context(), "key"))
		c := asOne(t, g)
		must(t, c.Set(t.Context(), "{key}before", "value", 0).Err())
		if stalled {
			must(t, g.Stall(t.Context(), 1))
		}
		must(t, c.Set(t.Context(), "key", "value", 0).Err())
		if !stalled {
			set(t, g.Nodes[0], "{key}after", 1)
		}
		must(t, g.Nodes[0].Kill())
		must(t, g.Promote(t.Context(), 1))
		promoted := client(t, g.Nodes[1].URL())
		before, _ := promoted.Exists(t.Context(), "{key}before").Result()
		there, _ := promoted.Exists(t.Context(), "key").Result()
		if before != 1 || (there == 0) != stalled {
			t.Errorf("stalled: %t, and of what was set before %d are there, of what was set after %d", stalled, before, there)
		}
		waitUntil(t, "a client finds the new primary", func() bool {
			c.ReloadState(t.Context())
			return c.Set(t.Context(), "key", "again", 0).Err() == nil
		})
	}
}
