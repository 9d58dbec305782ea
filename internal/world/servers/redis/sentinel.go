package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"lockbench/internal/world/servers"
)

const (
	sentinelNodes = 3
	quorum        = 2
	watched       = "lockbench" // name of the primary in the configuration of the Sentinels

	discoveryTimeout = 20 * time.Second // time limit for the Sentinels to discover all nodes
	promotionTimeout = time.Minute      // time limit of a promotion; after a failed attempt, Sentinels wait for twice the failover-timeout
)

// startWatched starts a primary, its replicas and the Sentinels. It returns when each Sentinel knows all nodes. Before
// that, Sentinels promote no replica.
func startWatched(ctx context.Context, s starter, nodes int) error {
	r, err := startFollowing(ctx, s, nodes)
	if err != nil {
		return err
	}
	s.library = "" // start the Sentinels without the library that shifts a server's clock
	if r.sentinels, err = s.start(ctx, sentinelNodes, kind{watches: r.nodes[0].forwarder}); err != nil {
		return fmt.Errorf("sentinel: %w", err)
	}
	return servers.Each(sentinelNodes, func(i int) error { return r.sentinels[i].gather(ctx, nodes-1) })
}

// sentinel returns the command that starts a Sentinel. The Sentinel also stores its state in the configuration file.
func (n *node) sentinel(p *servers.Process) (*exec.Cmd, error) {
	file := filepath.Join(p.Dir, "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\n"+
		"sentinel monitor %[3]s 127.0.0.1 %[4]s %[5]d\n"+
		"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 5000\n",
		p.Ports[0], p.Dir, watched, n.watches.port(), quorum)
	return exec.Command(program, file, "--sentinel"), os.WriteFile(file, []byte(text), 0o600)
}

// gather shortens a Sentinel's polling intervals. It returns when the Sentinel knows the replicas and the other
// Sentinels.
func (n *node) gather(ctx context.Context, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	// Old versions do not support SENTINEL DEBUG, so discovery takes longer there. After a pause of the machine, a
	// Sentinel is in tilt mode and promotes no node for the tilt-period.
	_ = n.do(ctx, "SENTINEL", "DEBUG", "info-period", 100, "ask-period", 100, "publish-period", 200, "tilt-period", 1000).Err()
	return servers.Poll(ctx, 10*servers.PollEvery, func(ctx context.Context) error {
		words, err := n.do(ctx, "SENTINEL", "MASTER", watched).StringSlice()
		knows := pairs(words)
		if err == nil && knows["num-slaves"] == strconv.Itoa(replicas) && knows["num-other-sentinels"] == strconv.Itoa(sentinelNodes-1) && knows["flags"] == "master" {
			return nil
		}
		return errors.Join(fmt.Errorf("wait for Sentinel %s to know all nodes: it knows %v", n.Addr(), knows), err)
	})
}

func pairs(words []string) map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		all[words[i]] = words[i+1]
	}
	return all
}

func (r *replicated) AwaitPromotion(ctx context.Context) (i int, err error) {
	if len(r.sentinels) == 0 {
		return 0, errors.New("needs Sentinels started by lockbench")
	}
	ctx, cancel := context.WithTimeout(ctx, promotionTimeout)
	defer cancel()
	err = servers.Poll(ctx, 10*servers.PollEvery, func(ctx context.Context) error {
		if i = r.elected(ctx); !r.succeeds(i) {
			return errors.New("the Sentinels have promoted no replica")
		}
		if err := r.nodes[i].awaitWrites(ctx, r.probe); err != nil {
			return servers.Final(fmt.Errorf("node %d was promoted: %w", i, err))
		}
		return nil
	})
	return i, err
}

func (r *replicated) succeeds(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < 0 || i == r.primary {
		return false
	}
	r.promoted(i)
	return true
}

// elected returns the index of the node that a majority of the Sentinels considers the primary, or -1.
func (r *replicated) elected(ctx context.Context) int {
	votes := make([]int, len(r.nodes))
	for _, s := range r.sentinels {
		address, err := s.do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", watched).StringSlice()
		if err != nil || len(address) != 2 {
			continue
		}
		if i := slices.IndexFunc(r.nodes, func(n *node) bool { return n.forwarder.port() == address[1] }); i >= 0 {
			if votes[i]++; votes[i] >= quorum {
				return i
			}
		}
	}
	return -1
}
