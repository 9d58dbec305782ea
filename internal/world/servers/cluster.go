package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

const (
	shards        = 3 // primaries, each of which has a replica
	slots         = 16384
	clusterWithin = 30 * time.Second // bounds the wait until all agree; a primary takes no writes for two seconds by itself
)

// cluster is a Redis Cluster. Nobody but the harness promotes in it, so that this does not hang on chance.
type cluster struct {
	shards []*replicated // each a primary and its replica
	first  []int         // the first slot of each
}

// startCluster returns when every node says that the cluster is there, and every replica follows.
func startCluster(ctx context.Context, l launcher, g *Group, nodes int) error {
	c := &cluster{}
	g.cluster = c
	release := g.release
	g.release = func() error { return errors.Join(c.close(), release()) }
	started, err := atOnce(nodes, func(int) (*clusterNode, error) { return l.startMember(ctx) })
	for _, n := range started {
		g.add(n.redisNode, Redis, n.version)
	}
	if err != nil {
		for _, n := range started {
			n.forwarder.close()
		}
		return err
	}
	for i := range shards { // primaries first, as the nodes are numbered
		primary, replica := started[i], started[shards+i]
		replica.follows = primary.forwarder
		c.first = append(c.first, i*slots/shards)
		c.shards = append(c.shards, &replicated{cluster: true,
			nodes:      []*redisNode{primary.redisNode, replica.redisNode},
			forwarders: []*forwarder{primary.forwarder, replica.forwarder}})
	}
	ctx, cancel := context.WithTimeout(ctx, clusterWithin)
	defer cancel()
	if err := c.gather(ctx, started); err != nil {
		return fmt.Errorf("form a cluster: %w", err)
	}
	g.around(0)
	return nil
}

// clusterNode is one of its nodes, and where the others and their clients are told to reach it.
type clusterNode struct {
	*redisNode
	forwarder *forwarder
}

func (l launcher) startMember(ctx context.Context) (*clusterNode, error) {
	f, err := newForwarder()
	if err != nil {
		return nil, err
	}
	n, err := l.startRedis(ctx, 2, clustered(f), nil)
	if err != nil {
		f.close()
		return nil, err
	}
	f.to(n.addr())
	return &clusterNode{n, f}, nil
}

// clustered is the command of a node of a cluster, which listens to the others on its second port. Whom it follows
// stands in its own file.
func clustered(f *forwarder) arguments {
	return func(n *redisNode) ([]string, error) {
		bus := strconv.Itoa(n.ports[1])
		return append(append(n.plain(), following(f)...),
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000",
			"--cluster-port", bus, "--cluster-announce-bus-port", bus,
			"--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", f.port(),
			"--cluster-replica-no-failover", "yes"), nil
	}
}

// gather makes the nodes one cluster.
func (c *cluster) gather(ctx context.Context, nodes []*clusterNode) error {
	for i, n := range nodes {
		if err := n.introduce(ctx, c, i, nodes[0]); err != nil {
			return fmt.Errorf("%s: %w", n.addr(), err)
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
func (n *clusterNode) introduce(ctx context.Context, c *cluster, i int, to *clusterNode) error {
	client := n.client()
	defer client.Close()
	if err := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
		return err
	}
	if i < shards {
		if err := client.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", c.first[i], c.last(i)).Err(); err != nil {
			return err
		}
	}
	if n == to {
		return nil
	}
	return client.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", to.forwarder.port(), to.ports[1]).Err()
}

// last is the last slot of a part.
func (c *cluster) last(i int) int { return (i+1)*slots/shards - 1 }

// replicate has a replica follow, once it has heard of its primary.
func (n *redisNode) replicate(ctx context.Context, primary *redisNode) error {
	of := primary.client()
	defer of.Close()
	id, err := of.Do(ctx, "CLUSTER", "MYID").Text()
	if err != nil {
		return err
	}
	c := n.client()
	defer c.Close()
	return n.await(ctx, "follow its primary", func(ctx context.Context) bool {
		return c.Do(ctx, "CLUSTER", "REPLICATE", id).Err() == nil
	})
}

// awaitCluster returns when the node says of the cluster what is wanted.
func (n *redisNode) awaitCluster(ctx context.Context, what, name, value string) error {
	c := n.client()
	defer c.Close()
	return n.await(ctx, what, func(ctx context.Context) bool {
		text, err := c.ClusterInfo(ctx).Result()
		return err == nil && parseInfo(text)[name] == value
	})
}

// keyOf is a key that a part has.
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

// partOf tells which part a key belonged to at the beginning.
func (c *cluster) partOf(ctx context.Context, key string) (int, error) {
	var slot int64
	err := errors.New("no node of it lives")
	for _, s := range c.shards {
		for _, n := range s.nodes {
			if !n.Alive() {
				continue
			}
			if slot, err = n.slotOf(ctx, key); err == nil {
				return c.partWith(int(slot)), nil
			}
		}
	}
	return 0, fmt.Errorf("ask for the slot of a key: %w", err)
}

func (n *redisNode) slotOf(ctx context.Context, key string) (int64, error) {
	c := n.client()
	defer c.Close()
	return c.ClusterKeySlot(ctx, key).Result()
}

func (c *cluster) partWith(slot int) int {
	part := 0
	for i, first := range c.first {
		if slot >= first {
			part = i
		}
	}
	return part
}

// Around has the nodes of a cluster stand around a key: the first is the primary that has it, the second its replica. Of
// other groups it changes nothing. It is for before anything befalls a node.
func (g *Group) Around(ctx context.Context, key string) error {
	if g.cluster == nil {
		return nil
	}
	part, err := g.cluster.partOf(ctx, key)
	if err != nil {
		return err
	}
	g.around(part)
	return nil
}

func (g *Group) around(part int) {
	g.replicated = g.cluster.shards[part]
	g.Nodes = nil
	for _, n := range g.replicated.nodes {
		g.Nodes = append(g.Nodes, n)
	}
	for i, s := range g.cluster.shards {
		for _, n := range s.nodes {
			if i != part {
				g.Nodes = append(g.Nodes, n)
			}
		}
	}
}

// close ends what stands beside the nodes. It may be called again.
func (c *cluster) close() error {
	var errs []error
	for _, s := range c.shards {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
