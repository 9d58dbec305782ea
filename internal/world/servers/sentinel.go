package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	sentinelNodes = 3
	quorum        = 2
	watched       = "lockbench" // what the Sentinels call the primary

	gatherWithin  = 20 * time.Second // bounds the wait until the Sentinels know everybody
	promoteWithin = time.Minute      // an attempt that failed is repeated after twice the failover-timeout
)

// startWatched starts a primary, its replicas and the Sentinels, and returns when each of them knows all others:
// before that they would promote nobody.
func startWatched(ctx context.Context, l launcher, g *Group, nodes int) error {
	if err := startReplicated(ctx, l, g, nodes); err != nil {
		return err
	}
	r := g.replicated
	var err error
	r.sentinels, err = atOnce(sentinelNodes, func(int) (*redisNode, error) { return l.startRedis(ctx, 1, sentinel(r.forwarders[0]), nil) })
	if err != nil {
		return fmt.Errorf("sentinel: %w", err)
	}
	_, err = atOnce(sentinelNodes, func(i int) (*redisNode, error) { return nil, r.sentinels[i].gather(ctx, nodes-1) })
	return err
}

// sentinel are the arguments of a Sentinel. Its file is its memory too.
func sentinel(primary *forwarder) arguments {
	return func(n *redisNode) ([]string, error) {
		file := filepath.Join(n.dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\n"+
			"sentinel monitor %[3]s 127.0.0.1 %[4]s %[5]d\n"+
			"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 5000\n",
			n.ports[0], n.dir, watched, primary.port(), quorum)
		return []string{file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
	}
}

// gather hurries a Sentinel and returns when it knows the replicas and the other Sentinels.
func (n *redisNode) gather(ctx context.Context, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, gatherWithin)
	defer cancel()
	c := n.client()
	defer c.Close()
	// Versions that cannot be hurried take longer. A tilt is what a Sentinel falls into on a machine that stood
	// still: it promotes nobody for a while.
	_ = c.Do(ctx, "SENTINEL", "DEBUG", "info-period", 100, "ask-period", 100, "publish-period", 200, "tilt-period", 1000).Err()
	for {
		words, err := c.Do(ctx, "SENTINEL", "MASTER", watched).StringSlice()
		knows := pairs(words)
		if err == nil && knows["num-slaves"] == strconv.Itoa(replicas) && knows["num-other-sentinels"] == strconv.Itoa(sentinelNodes-1) && knows["flags"] == "master" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for Sentinel %s to know the others: %w (it has %v)", n.addr(), ctx.Err(), knows), err)
		case <-time.After(10 * pollEvery):
		}
	}
}

// pairs makes a map of name, value, name, value.
func pairs(words []string) map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		all[words[i]] = words[i+1]
	}
	return all
}

// AwaitPromotion returns when the Sentinels have put another node in the place of the primary, which is dead or
// does not answer, and the new one takes writes: its index in Nodes. It waits for a minute at most.
func (g *Group) AwaitPromotion(ctx context.Context) (int, error) {
	if g.replicated == nil || len(g.replicated.sentinels) == 0 {
		return 0, errors.New("await a promotion: it needs Sentinels of our own")
	}
	r := g.replicated
	ctx, cancel := context.WithTimeout(ctx, promoteWithin)
	defer cancel()
	for {
		if i := r.elected(ctx); r.succeeds(i) {
			if err := r.nodes[i].awaitWrites(ctx, r.probe); err != nil {
				return 0, fmt.Errorf("node %d was promoted: %w", i, err)
			}
			return i, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("await a promotion: the Sentinels have promoted nobody: %w", ctx.Err())
		case <-time.After(10 * pollEvery):
		}
	}
}

// succeeds takes note of a new primary; false where there is none.
func (r *replicated) succeeds(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < 0 || i == r.primary {
		return false
	}
	r.promoted(i)
	return true
}

// elected is the node that a majority of the Sentinels calls the primary; -1: none.
func (r *replicated) elected(ctx context.Context) int {
	votes := make([]int, len(r.nodes))
	for _, s := range r.sentinels {
		c := s.client()
		address, err := c.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", watched).StringSlice()
		c.Close()
		if err != nil || len(address) != 2 {
			continue
		}
		if i := r.portOf(address[1]); i >= 0 {
			if votes[i]++; votes[i] >= quorum {
				return i
			}
		}
	}
	return -1
}
