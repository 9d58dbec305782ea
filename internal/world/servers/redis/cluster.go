package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockbench/internal/world/servers"
)

const (
	shards         = 3 // number of shards, each with a primary and a replica
	slots          = 16384
	clusterTimeout = 30 * time.Second // time limit for forming the cluster; new primaries refuse writes for two seconds
)

// cluster is a Redis Cluster. Automatic failover is disabled. Only lockbench promotes replicas, so failovers are
// reproducible.
type cluster struct {
	*replicated               // shard that holds the lock's key
	shards      []*replicated // all shards, each with a primary and a replica
	first       []int         // first slot of each shard
}

// startCluster starts a cluster. It returns when all slots are served and every replica follows its primary.
func startCluster(ctx context.Context, s starter, nodes int) error {
	started, err := s.start(ctx, nodes, kind{clustered: true, reached: true})
	if err != nil {
		return err
	}
	c := &cluster{}
	for pair := range slices.Chunk(started, 2) {
		pair[1].follows.Store(pair[0].forwarder)
		c.first = append(c.first, len(c.shards)*slots/shards)
		c.shards = append(c.shards, &replicated{cluster: true, nodes: pair})
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	if err := c.gather(ctx, started); err != nil {
		return fmt.Errorf("form a cluster: %w", err)
	}
	c.replicated = c.shards[0]
	s.Replicate(c)
	return nil
}

func (c *cluster) gather(ctx context.Context, nodes []*node) error {
	for i, n := range nodes {
		if err := n.introduce(ctx, c, i, nodes[0]); err != nil {
			return fmt.Errorf("%s: %w", n.Addr(), err)
		}
	}
	for _, n := range nodes {
		if err := n.awaitCluster(ctx, "know all nodes", "cluster_known_nodes", strconv.Itoa(len(nodes))); err != nil {
			return err
		}
	}
	for i, s := range c.shards {
		if err := s.nodes[1].replicate(ctx, s.nodes[0]); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
	}
	for _, n := range nodes {
		if err := n.awaitCluster(ctx, "see a complete cluster", "cluster_state", "ok"); err != nil {
			return err
		}
	}
	for i, s := range c.shards {
		var err error
		if s.probe, err = c.keyIn(ctx, i); err != nil {
			return err
		}
		if err := s.awaitFollowers(ctx, s.nodes[0], s.nodes[1:]); err != nil {
			return err
		}
	}
	return nil
}

// introduce sets the epoch of a node. If the node is a primary, it also sets its slots. The node then joins the cluster
// of the first node.
func (n *node) introduce(ctx context.Context, c *cluster, i int, to *node) error {
	if err := n.do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
		return err
	}
	if shard := i / 2; i%2 == 0 {
		if err := n.do(ctx, "CLUSTER", "ADDSLOTSRANGE", c.first[shard], (shard+1)*slots/shards-1).Err(); err != nil {
			return err
		}
	}
	if n == to {
		return nil
	}
	return n.do(ctx, "CLUSTER", "MEET", "127.0.0.1", to.forwarder.port(), to.Ports[1]).Err()
}

func (n *node) replicate(ctx context.Context, primary *node) error {
	id, err := primary.do(ctx, "CLUSTER", "MYID").Text()
	if err != nil {
		return err
	}
	return n.Await(ctx, "follow its primary", func(ctx context.Context) error {
		return n.do(ctx, "CLUSTER", "REPLICATE", id).Err()
	})
}

func (n *node) awaitCluster(ctx context.Context, what, name, value string) error {
	return n.Await(ctx, what, func(ctx context.Context) error {
		text, err := n.do(ctx, "CLUSTER", "INFO").Text()
		if err == nil && parseInfo(text)[name] != value {
			err = servers.ErrNotYet
		}
		return err
	})
}

func (c *cluster) keyIn(ctx context.Context, part int) (string, error) {
	for i := range slots {
		key := probeKey + strconv.Itoa(i)
		has, err := c.shardOf(ctx, key)
		if err != nil || has == part {
			return key, err
		}
	}
	return "", fmt.Errorf("no key found in shard %d", part)
}

func (c *cluster) shardOf(ctx context.Context, key string) (int, error) {
	slot, err := c.shards[0].nodes[0].do(ctx, "CLUSTER", "KEYSLOT", key).Int()
	if err != nil {
		return 0, fmt.Errorf("read the slot of a key: %w", err)
	}
	part, _ := slices.BinarySearch(c.first, slot+1)
	return part - 1, nil
}

// OrderByKey implements Group.OrderByKey.
func (c *cluster) OrderByKey(ctx context.Context, key string) (all []servers.Node, err error) {
	part, err := c.shardOf(ctx, key)
	if err != nil {
		return nil, err
	}
	c.replicated = c.shards[part]
	others := slices.Delete(slices.Clone(c.shards), part, part+1)
	for _, s := range append([]*replicated{c.replicated}, others...) {
		for _, n := range s.nodes {
			all = append(all, n)
		}
	}
	return all, nil
}
