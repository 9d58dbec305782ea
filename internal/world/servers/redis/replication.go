package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

// replicated is a primary and its replicas. The nodes connect to each other only through proxies. Sentinels know only
// the addresses of the proxies. So replicas use a proxy after a promotion too.
type replicated struct {
	nodes     []*node
	sentinels []*node // Sentinels, which promote replicas; nil in other deployments
	cluster   bool    // whether the nodes are a shard of a cluster
	probe     string  // key for test writes; in a cluster, it belongs to this shard

	mu      sync.Mutex
	primary int // index of the current primary
}

// errNotFollowing is returned if a node is not a replica of the primary.
var errNotFollowing = errors.New("the node does not follow the primary")

// startReplicated starts a primary and its replicas. It returns when every replica follows the primary.
func startReplicated(ctx context.Context, s starter, nodes int) error {
	_, err := startFollowing(ctx, s, nodes)
	return err
}

func startFollowing(ctx context.Context, s starter, nodes int) (*replicated, error) {
	r := &replicated{probe: probeKey}
	s.Replicate(r)
	s.OnStop(func() error {
		return servers.Each(len(r.sentinels), func(i int) error { return r.sentinels[i].Stop() })
	})
	var err error
	if r.nodes, err = s.start(ctx, nodes, kind{reached: true}); err != nil {
		return nil, err
	}
	primary, replicas := r.nodes[0], r.nodes[1:]
	for _, n := range replicas {
		n.follows.Store(primary.forwarder)
		if err := n.replicaOf(ctx, "127.0.0.1", primary.forwarder.port()); err != nil {
			return nil, err
		}
	}
	return r, r.awaitFollowers(ctx, primary, replicas)
}

// awaitFollowers returns when the replicas follow the primary and acknowledge the primary's writes.
func (r *replicated) awaitFollowers(ctx context.Context, primary *node, replicas []*node) error {
	for _, n := range replicas {
		err := n.awaitInfo(ctx, "follow its primary", "replication", func(info map[string]string) bool {
			return info["master_link_status"] == "up" && info["master_port"] == n.follows.Load().port()
		})
		if err != nil {
			return fmt.Errorf("%s: %w", n.URL(), err)
		}
	}
	if len(replicas) == 0 {
		return nil
	}
	return primary.awaitAcknowledged(ctx, r.probe, len(replicas))
}

// Stall implements Replication. It first waits until the replica has received all writes. Otherwise the replica could
// lack an acknowledged release and treat a free key as held.
func (r *replicated) Stall(ctx context.Context, i int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.has(i); err != nil {
		return err
	}
	if i == r.primary {
		return errNotFollowing
	}
	info, err := askInfo(ctx, r.nodes[r.primary].Addr(), "replication")
	if err != nil {
		return err
	}
	done := offset(info["master_repl_offset"])
	err = r.nodes[i].awaitInfo(ctx, "catch up with its primary", "replication", func(info map[string]string) bool {
		return offset(info["slave_repl_offset"]) >= done
	})
	if err != nil {
		return err
	}
	return r.nodes[r.primary].forwarder.stall(r.nodes[i].forwarder.port())
}

func offset(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (r *replicated) has(i int) error {
	if i < 0 || i >= len(r.nodes) {
		return fmt.Errorf("there are %d nodes", len(r.nodes))
	}
	return nil
}

func (r *replicated) Promote(ctx context.Context, i int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.has(i); err != nil {
		return err
	}
	switch {
	case len(r.sentinels) > 0:
		return errors.New("in this deployment the Sentinels promote replicas")
	case i == r.primary:
		return errors.New("the node is already the primary")
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := r.takeOver(ctx, r.nodes[i]); err != nil {
		return err
	}
	var others []*node
	for j, n := range r.nodes {
		if j == i || j == r.primary || !n.Alive() {
			continue
		}
		if err := n.replicaOf(ctx, "127.0.0.1", r.nodes[i].forwarder.port()); err != nil {
			return fmt.Errorf("node %d does not follow the new primary: %w", j, err)
		}
		others = append(others, n)
	}
	r.promoted(i)
	if err := r.nodes[i].awaitWrites(ctx, r.probe); err != nil {
		return err
	}
	return r.awaitFollowers(ctx, r.nodes[i], others)
}

// promoted records that node i is the new primary. Another replica follows node i after a restart. The old primary is a
// primary again after a restart.
func (r *replicated) promoted(i int) {
	for j, n := range r.nodes {
		switch j {
		case i:
			n.follows.Store(nil)
		case r.primary:
		default:
			n.follows.Store(r.nodes[i].forwarder)
		}
	}
	r.primary = i
}

// takeOver makes a replica a primary without asking other nodes.
func (r *replicated) takeOver(ctx context.Context, n *node) error {
	if !r.cluster {
		return n.replicaOf(ctx, "NO", "ONE")
	}
	return n.do(ctx, "CLUSTER", "FAILOVER", "TAKEOVER").Err()
}

func (n *node) replicaOf(ctx context.Context, host, port string) error {
	return n.do(ctx, "REPLICAOF", host, port).Err()
}

func (n *node) awaitWrites(ctx context.Context, probe string) error {
	return withClient(n.Addr(), func(c *redis.Client) error {
		return servers.Poll(ctx, servers.PollEvery, func(ctx context.Context) error {
			if err := takesWrites(ctx, c, probe); err != nil {
				return fmt.Errorf("it accepts no writes: %w", err)
			}
			return nil
		})
	})
}

func takesWrites(ctx context.Context, c *redis.Client, probe string) error {
	if err := c.Set(ctx, probe, "up", 0).Err(); err != nil {
		return err
	}
	return c.Del(ctx, probe).Err()
}
