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
	shards        = 3 // primaries, each of which has a replica
	slots         = 16384
	clusterWithin = 30 * time.Second // bounds the wait until all agree; a primary takes no writes for two seconds by itself
)

// cluster is a Redis Cluster. Only the harness promotes in it, so that this does not depend on chance.
type cluster struct {
	*replicated               // the part around which the nodes are ordered
	shards      []*replicated // each a primary and its replica
	first       []int         // the first slot of each
}

// startCluster returns when every node says that the cluster is there, and every replica follows.
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
	ctx, cancel := context.WithTimeout(ctx, clusterWithin)
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
		if err := n.awaitCluster(ctx, "know the others", "cluster_known_nodes", strconv.Itoa(len(nodes))); err != nil {
			return err
		}
	}
	for i, s := range c.shards {
		if err := s.nodes[1].replicate(ctx, s.nodes[0]); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	for _, n := range nodes {
		if err := n.awaitCluster(ctx, "have the cluster whole", "cluster_state", "ok"); err != nil {
			return err
		}
	}
	for i, s := range c.shards {
		var err error
		if s.probe, err = c.keyOf(ctx, i); err != nil {
			return err
		}
		if err := s.awaitFollowers(ctx, s.nodes[0], s.nodes[1:]); err != nil {
			return err
		}
	}
	return nil
}

// introduce gives a node its number, the slots that it is to have, and to one of the others.
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

func (c *cluster) keyOf(ctx context.Context, part int) (string, error) {
	for i := range slots {
		key := probeKey + strconv.Itoa(i)
		has, err := c.partOf(ctx, key)
		if err != nil || has == part {
			return key, err
		}
	}
	return "", fmt.Errorf("no key was found that part %d has", part)
}

// partOf returns the part that a key belonged to at the beginning.
func (c *cluster) partOf(ctx context.Context, key string) (int, error) {
	slot, err := c.shards[0].nodes[0].do(ctx, "CLUSTER", "KEYSLOT", key).Int()
	if err != nil {
		return 0, fmt.Errorf("ask for the slot of a key: %w", err)
	}
	part, _ := slices.BinarySearch(c.first, slot+1)
	return part - 1, nil
}

// Around returns the nodes with the primary of a key first, then its replica.
func (c *cluster) Around(ctx context.Context, key string) (all []servers.Node, err error) {
	part, err := c.partOf(ctx, key)
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
