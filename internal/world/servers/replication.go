package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicated is what the nodes of a group are to each other where some follow others. They know each other by
// the forwarders' addresses alone: so do the Sentinels, which would send a replica back to where they believe
// its primary to be.
type replicated struct {
	nodes      []*redisNode
	forwarders []*forwarder // to each node
	sentinels  []*redisNode // none where nobody but the harness promotes
	cluster    bool         // they have a part of the keys of a cluster
	probe      string       // a key that they take

	mu      sync.Mutex
	primary int // who is it now
}

// errNotReplicated: the servers are not ours, or do not follow each other.
var errNotReplicated = errors.New("it needs redis-servers of our own that follow one another")

// errNotFollowing: there is no link between them.
var errNotFollowing = errors.New("it does not follow the primary now")

// startReplicated returns when every replica follows, and says so.
func startReplicated(ctx context.Context, l launcher, g *Group, nodes int) error {
	r := &replicated{probe: probeKey}
	g.replicated = r
	for range nodes {
		f, err := newForwarder()
		if err != nil {
			return err
		}
		r.forwarders = append(r.forwarders, f)
	}
	if err := r.start(ctx, l, g, 0, 1, nil); err != nil {
		return err
	}
	if err := r.start(ctx, l, g, 1, nodes, r.forwarders[0]); err != nil {
		return err
	}
	return r.awaitFollowers(ctx, r.nodes[0], r.nodes[1:])
}

// start starts the nodes from one to before another at once.
func (r *replicated) start(ctx context.Context, l launcher, g *Group, from, to int, follows *forwarder) error {
	started, err := atOnce(to-from, func(i int) (*redisNode, error) {
		f := r.forwarders[from+i]
		n, err := l.startRedis(ctx, 1, member(f), follows)
		if err == nil {
			f.to(n.addr())
		}
		return n, err
	})
	for _, n := range started {
		g.add(n, Redis, n.version)
		r.nodes = append(r.nodes, n)
	}
	return err
}

// member is the command of a node that others may follow. Without the delay of 0 it would wait five seconds for
// other replicas before it sends the first what it has; and a link that is stalled, or a clock that was moved,
// must not look to it as if the other were gone.
func member(f *forwarder) arguments {
	return data(following(f)...)
}

func following(f *forwarder) []string {
	return []string{"--repl-diskless-sync-delay", "0", "--repl-timeout", "86400",
		"--replica-announce-ip", "127.0.0.1", "--replica-announce-port", f.port()}
}

// awaitFollowers returns when replicas follow a primary and acknowledge what it writes.
func (r *replicated) awaitFollowers(ctx context.Context, primary *redisNode, replicas []*redisNode) error {
	for _, n := range replicas {
		err := n.awaitInfo(ctx, "follow its primary", "replication", func(info map[string]string) bool {
			return info["master_link_status"] == "up" && info["master_port"] == n.follows.port()
		})
		if err != nil {
			return fmt.Errorf("%s: %w", n.URL(), err)
		}
	}
	if len(replicas) == 0 {
		return nil
	}
	return askAcknowledged(ctx, primary.addr(), r.probe, len(replicas))
}

// Stall makes true that node i, a replica, receives nothing more of what its primary does, while the link stays
// up and the replica can be read. It has received all that was acknowledged before. It ends when the replica
// follows another node. An error: no fault was injected.
func (g *Group) Stall(ctx context.Context, i int) error {
	r, err := g.replicas(i)
	if err == nil {
		err = r.stall(ctx, i)
	}
	if err != nil {
		return fmt.Errorf("stall the link to node %d: %w", i, err)
	}
	return nil
}

// stall lets the replica catch up first: a release that was acknowledged and is still on its way would be kept
// from it too, and it would take a key for held that was free.
func (r *replicated) stall(ctx context.Context, i int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i == r.primary {
		return errNotFollowing
	}
	info, err := askInfo(ctx, r.nodes[r.primary].addr(), "replication")
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
	return r.forwarders[r.primary].stall(r.forwarders[i].port())
}

// offset is how far a node is in what was ever written; -1 where it does not say.
func offset(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Promote makes node i the primary now, and returns when it takes writes and the other living replicas follow
// it, which ends what Stall did to them. The old primary, should it live, goes on as one. An error: the group may
// be half way.
func (g *Group) Promote(ctx context.Context, i int) error {
	r, err := g.replicas(i)
	if err == nil {
		err = r.promote(ctx, i)
	}
	if err != nil {
		return fmt.Errorf("promote node %d: %w", i, err)
	}
	return nil
}

// replicas checks what a fault of replication needs.
func (g *Group) replicas(i int) (*replicated, error) {
	switch {
	case g.replicated == nil:
		return nil, errNotReplicated
	case i < 0 || i >= len(g.replicated.nodes):
		return nil, fmt.Errorf("there are %d nodes", len(g.replicated.nodes))
	}
	return g.replicated, nil
}

func (r *replicated) promote(ctx context.Context, i int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
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
	var others []*redisNode
	for j, n := range r.nodes {
		if j == i || j == r.primary || !n.Alive() {
			continue
		}
		if err := n.replicaOf(ctx, "127.0.0.1", r.forwarders[i].port()); err != nil {
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

// promoted remembers who follows whom from now on, for when one of them is started again. The old primary comes
// back as what it was.
func (r *replicated) promoted(i int) {
	for j, n := range r.nodes {
		n.life.Lock()
		switch j {
		case i:
			n.follows = nil
		case r.primary:
		default:
			n.follows = r.forwarders[i]
		}
		n.life.Unlock()
	}
	r.primary = i
}

// takeOver has a replica be the primary from now on, whatever the others think.
func (r *replicated) takeOver(ctx context.Context, n *redisNode) error {
	if !r.cluster {
		return n.replicaOf(ctx, "NO", "ONE")
	}
	c := n.client()
	defer c.Close()
	return c.Do(ctx, "CLUSTER", "FAILOVER", "TAKEOVER").Err()
}

func (n *redisNode) replicaOf(ctx context.Context, host, port string) error {
	c := n.client()
	defer c.Close()
	return c.Do(ctx, "REPLICAOF", host, port).Err()
}

// awaitWrites returns when the node takes writes.
func (n *redisNode) awaitWrites(ctx context.Context, probe string) error {
	c := n.client()
	defer c.Close()
	for {
		err := takesWrites(ctx, c, probe)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it takes no writes: %w", err)
		case <-time.After(pollEvery):
		}
	}
}

func takesWrites(ctx context.Context, c *redis.Client, probe string) error {
	if err := c.Set(ctx, probe, "up", 0).Err(); err != nil {
		return err
	}
	return c.Del(ctx, probe).Err()
}

// close ends what stands beside the nodes. It may be called again.
func (r *replicated) close() error {
	var errs []error
	for _, s := range r.sentinels {
		errs = append(errs, s.Stop())
	}
	for _, f := range r.forwarders {
		f.close()
	}
	return errors.Join(errs...)
}

// portOf finds a node by what others know it by; -1: none.
func (r *replicated) portOf(port string) int {
	for i, f := range r.forwarders {
		if f.port() == port {
			return i
		}
	}
	return -1
}
