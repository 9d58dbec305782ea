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

// replicated is nodes of which some follow others. They know each other by
// their forwarders' addresses alone: so do the Sentinels, which would send a replica back to where they believe
// its primary to be.
type replicated struct {
	nodes     []*node
	sentinels []*node // none if only the harness promotes
	cluster   bool    // they have a part of the keys of a cluster
	probe     string  // a key that they take

	mu      sync.Mutex
	primary int // the index of the present one
}

// errNotFollowing: there is no link between them.
var errNotFollowing = errors.New("it does not follow the primary now")

// startReplicated returns when every replica follows, and says so.
func startReplicated(ctx context.Context, s starter, nodes int) error {
	_, err := startFollowing(ctx, s, nodes)
	return err
}

func startFollowing(ctx context.Context, s starter, nodes int) (r *replicated, err error) {
	r = &replicated{probe: probeKey}
	s.Replicate(r)
	s.OnStop(func() error {
		return servers.Each(len(r.sentinels), func(i int) error { return r.sentinels[i].Stop() })
	})
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

// awaitFollowers returns when replicas follow a primary and acknowledge what it writes.
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

// Stall lets the replica catch up first: a release that was acknowledged and is still on its way would be kept
// from it too, and it would take a key for held that was free.
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
	err = r.nodes[i].awaitInfo(ctx, "hear of what its primary has done", "replication", func(info map[string]string) bool {
		return offset(info["slave_repl_offset"]) >= done
	})
	if err != nil {
		return err
	}
	return r.nodes[r.primary].forwarder.stall(r.nodes[i].forwarder.port())
}

// offset returns how far a node is in what was ever written; -1 if it does not say.
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
		return errors.New("the Sentinels promote here, and would undo it")
	case i == r.primary:
		return errors.New("it is the primary already")
	}
	ctx, cancel := context.WithTimeout(ctx, upWithin)
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
			return fmt.Errorf("node %d does not follow it: %w", j, err)
		}
		others = append(others, n)
	}
	r.promoted(i)
	if err := r.nodes[i].awaitWrites(ctx, r.probe); err != nil {
		return err
	}
	return r.awaitFollowers(ctx, r.nodes[i], others)
}

// promoted notes which node follows which from now on, for when one of them is started again. The old primary comes
// back as what it was.
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

// takeOver has a replica be the primary from now on, whatever the others think.
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
	return n.with(func(c *redis.Client) error {
		return servers.Poll(ctx, servers.PollEvery, func(ctx context.Context) error {
			if err := takesWrites(ctx, c, probe); err != nil {
				return fmt.Errorf("it takes no writes: %w", err)
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
