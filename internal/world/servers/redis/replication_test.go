package redis

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/internal/world/servers"
)

// set writes a key and returns the number of replicas that acknowledged the write. It waits up to ten seconds for the
// number of replicas in the parameter replicas. If replicas is 0, it waits 50 ms for one replica.
func set(t *testing.T, n servers.Node, key string, replicas int) int64 {
	t.Helper()
	// Use one connection, because WAIT covers only the writes of one connection.
	conn := client(t, n.URL()).Conn()
	defer conn.Close()
	must(t, conn.Set(t.Context(), key, "value", 0).Err())
	within := 10 * time.Second
	if replicas == 0 {
		within = 50 * time.Millisecond
		replicas = 1
	}
	acknowledged, err := conn.Wait(t.Context(), replicas, within).Result()
	must(t, err)
	return acknowledged
}

func info(t *testing.T, n servers.Node, name string) string {
	t.Helper()
	all, err := askInfo(t.Context(), n.(*node).Addr(), "replication")
	must(t, err)
	return all[name]
}

func TestStalledReplicaLosesWrites(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Replica)
	primary, replica := g.Nodes[0], g.Nodes[1]
	if set(t, primary, "before", 1) != 1 {
		t.Fatal("the replica does not follow")
	}
	must(t, g.Stall(t.Context(), 1))
	if n := set(t, primary, "after", 0); n != 0 {
		t.Errorf("%d replicas acknowledged a write that was withheld", n)
	}
	if link := info(t, replica, "master_link_status"); link != "up" || !has(t, replica, "before") {
		t.Errorf("the stalled link is %s", link)
	}
	must(t, primary.Kill())
	must(t, g.Promote(t.Context(), 1))
	if !has(t, replica, "before") || has(t, replica, "after") {
		t.Errorf("before: %t, after: %t", has(t, replica, "before"), has(t, replica, "after"))
	}
	must(t, replica.Restart(t.Context()))
	if role := info(t, replica, "role"); role != "master" {
		t.Errorf("the promoted node restarts as a %s", role)
	}
}

// TestStallKeepsAcknowledgedWrites checks a stalled replica. It must have every write made before the call of Stall,
// even if it had not received the write by then.
func TestStallKeepsAcknowledgedWrites(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Replica)
	c := client(t, g.Nodes[0].URL())
	large := strings.Repeat("x", 8<<20)
	for i := range 4 {
		must(t, c.Set(t.Context(), fmt.Sprint("large", i), large, 0).Err())
	}
	must(t, g.Stall(t.Context(), 1))
	if !has(t, g.Nodes[1], "large3") {
		t.Error("the replica lacks a write that was in flight")
	}
}

// TestReplicaKeepsNoCopy checks that a replica deletes the RDB file that it received from its primary.
func TestReplicaKeepsNoCopy(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Replica)
	left, err := filepath.Glob(filepath.Join(g.Nodes[1].(*node).Dir, "*.rdb"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestStallOutlivesConnection(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Replica)
	must(t, g.Stall(t.Context(), 1))
	must(t, g.Nodes[1].Restart(t.Context()))
	waitUntil(t, "the replica follows again", func() bool {
		f := g.Replication.(*replicated).nodes[0].forwarder
		f.mu.Lock()
		defer f.mu.Unlock()
		connections := 0
		for _, g := range f.followers {
			if g.port != "" {
				connections++
			}
		}
		return connections > 1
	})
	if n := set(t, g.Nodes[0], "key", 0); n != 0 || has(t, g.Nodes[1], "key") {
		t.Errorf("%d acknowledged", n)
	}
}

func TestPromoteRedirectsReplicas(t *testing.T) {
	g := startGroup(t, servers.Local, servers.TwoReplicas)
	if len(g.Nodes) != 3 {
		t.Fatalf("%d nodes", len(g.Nodes))
	}
	if n := set(t, g.Nodes[0], "before", 2); n != 2 {
		t.Fatalf("%d replicas", n)
	}
	must(t, g.Stall(t.Context(), 1))
	if n := set(t, g.Nodes[0], "after", 1); n != 1 || has(t, g.Nodes[1], "after") {
		t.Errorf("%d of two replicas acknowledged, although one is stalled", n)
	}
	must(t, g.Nodes[0].Kill())
	must(t, g.Promote(t.Context(), 1))
	if link := info(t, g.Nodes[2], "master_link_status"); link != "up" {
		t.Errorf("after Promote the other replica's link is %s", link)
	}
	if n := set(t, g.Nodes[1], "new", 1); n != 1 {
		t.Errorf("%d replicas follow the new primary", n)
	}
	if other := g.Nodes[2]; !has(t, other, "new") || !has(t, other, "before") || has(t, other, "after") {
		t.Errorf("the other has new: %t, before: %t, after: %t", has(t, other, "new"), has(t, other, "before"), has(t, other, "after"))
	}
	must(t, g.Stall(t.Context(), 2)) // Stall must also work for a replica of the new primary
	if n := set(t, g.Nodes[1], "newer", 0); n != 0 {
		t.Errorf("%d acknowledged", n)
	}
	must(t, g.Nodes[0].Restart(t.Context()))
	if role := info(t, g.Nodes[0], "role"); role != "master" {
		t.Errorf("the old primary restarts as a %s", role)
	}
}

func TestPromoteIgnoresDeadNodes(t *testing.T) {
	g := startGroup(t, servers.Local, servers.TwoReplicas)
	must(t, g.Nodes[0].Kill())
	must(t, g.Nodes[2].Kill())
	must(t, g.Promote(t.Context(), 1))
	must(t, g.Nodes[2].Restart(t.Context()))
	if n := set(t, g.Nodes[1], "key", 1); n != 1 { // the replica must follow the new primary
		t.Errorf("%d replicas", n)
	}
}

func TestReplicationRefuses(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Replica)
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	for what, test := range map[string]struct {
		err  error
		says string
	}{
		"stall the primary":     {g.Stall(t.Context(), 0), "does not follow the primary"},
		"stall no node":         {g.Stall(t.Context(), 2), "there are 2 nodes"},
		"promote the primary":   {g.Promote(t.Context(), 0), "is already the primary"},
		"promote no node":       {g.Promote(t.Context(), -1), "there are 2 nodes"},
		"promote without time":  {g.Promote(dead, 1), "promote node 1: "},
		"stall a single server": {startGroup(t, servers.Local, servers.Single).Stall(t.Context(), 0), "needs replicated redis-servers"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", what, test.err, test.says)
		}
	}
}

func TestSentinelsPromote(t *testing.T) {
	g := startGroup(t, servers.Local, servers.Sentinel)
	if len(g.Nodes) != 3 {
		t.Fatalf("%d nodes", len(g.Nodes))
	}
	set(t, g.Nodes[0], "before", 2)
	for i := 1; i <= 2; i++ {
		must(t, g.Stall(t.Context(), i))
	}
	set(t, g.Nodes[0], "after", 0)
	if err := g.Promote(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "the Sentinels promote replicas") {
		t.Error(err)
	}
	must(t, g.Nodes[0].Kill())
	i, err := g.AwaitPromotion(t.Context())
	must(t, err)
	if i != 1 && i != 2 {
		t.Fatalf("node %d was promoted", i)
	}
	n := g.Nodes[i]
	if !has(t, n, "before") || has(t, n, "after") {
		t.Errorf("before: %t, after: %t", has(t, n, "before"), has(t, n, "after"))
	}
	if acknowledged := set(t, n, "new", 1); acknowledged != 1 { // the Sentinels let the node follow the new primary a little later
		t.Errorf("%d replicas follow", acknowledged)
	}
	must(t, g.Stop())
	for _, n := range g.Replication.(*replicated).nodes {
		if listens(t, "redis://"+n.forwarder.link.Addr()) {
			t.Error("a forwarder outlived its group")
		}
	}
}

// TestReplicasStopAfterFailedStart interrupts the start of replicas. The servers must end without a panic.
func TestReplicasStopAfterFailedStart(t *testing.T) {
	needRedis(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := servers.Start(ctx, Store(), servers.Spec{How: servers.Local, Store: servers.Redis, Deployment: servers.Replica}); err == nil {
		t.Error("the start succeeded")
	}
}
