// Package redis describes Redis and its deployments: single, replicated, with Sentinels, as a cluster, and as an
// emulator.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockbench/internal/world/clock"
	"lockbench/internal/world/servers"
)

const (
	program      = "redis-server"
	valkey       = "valkey-server"
	startTimeout = 7 * time.Second
	onDisk       = "on disk, in an append-only file with an fsync before each answer"
)

// Store returns the description of Redis.
func Store() servers.Store {
	return servers.Store{
		Name: servers.Redis, Product: "redis", Provide: "apt install redis-server",
		Durability: "in memory only, lost in a crash",
		Missing: func() error {
			_, err := exec.LookPath(program)
			return err
		},
		Deployments: []servers.Deployment{
			{Name: servers.Single, Nodes: 1, Contained: true, Start: deployed(startIndependent)},
			{Name: servers.Replica, Nodes: 2, Needs: "replication", Start: deployed(startReplicated)},
			{Name: servers.Five, Nodes: 5, Contained: true, Start: deployed(startIndependent)},
			{Name: servers.TwoReplicas, Nodes: 3, Needs: "replication", Start: deployed(startReplicated)},
			{Name: servers.Sentinel, Nodes: 3, Needs: "replication", Start: deployed(startWatched)},
			{Name: servers.Durable, Nodes: 1, Needs: "durability", Contained: true, Durability: onDisk,
				Options: []string{"--appendonly", "yes", "--appendfsync", "always"}, Start: deployed(startIndependent)},
			{Name: servers.Valkey, Nodes: 1, Needs: "conditional commands of Valkey", Product: "valkey", Start: deployed(startValkey),
				Missing: func() error {
					if _, err := exec.LookPath(valkey); err != nil {
						return fmt.Errorf("%w: %s", err, "install valkey-server")
					}
					return nil
				}},
			{Name: servers.FiveDelayed, Nodes: 5, Contained: true, Start: deployed(startIndependent)},
			{Name: servers.Cluster, Nodes: 2 * shards, Needs: "cluster mode", Start: deployed(startCluster)},
		},
		Emulator: emulator, Emulate: emulate,
		StartTimeout: startTimeout, Ask: ask, ClockMissing: clock.Missing,
		URL: func(addr string) string { return "redis://" + addr },
		Counters: func(ctx context.Context, addr string) (map[string]float64, error) {
			info, err := askInfo(ctx, addr, "all")
			if err != nil {
				return nil, err
			}
			return counters(info)
		},
		Evict: evict, Enter: enter, Observing: servers.Observing{Open: observe, Step: time.Millisecond},
		Image: servers.Image{Name: "redis:7.0.15", Port: "6379", Variable: "LOCKBENCH_REDIS_IMAGE",
			Command: []string{program, "--save", "", "--protected-mode", "no"}, Ready: hasLoaded},
		External: access(),
	}
}

// node is a Redis server or a Sentinel.
type node struct {
	*servers.Process
	kind
	library   clock.Library // library that shifts the server's clock; "": the server uses the machine's clock
	offset    *clock.Offset // offset of the server's clock, shared with the server; nil if the server uses the machine's clock
	forwarder *forwarder
	follows   atomic.Pointer[forwarder] // proxy through which the node reaches its primary; nil for a primary
}

type kind struct {
	reached   bool       // whether other nodes connect to the node through a proxy
	clustered bool       // whether the node is part of a cluster and has a second port for the cluster bus
	watches   *forwarder // proxy to the primary that a Sentinel watches; nil for other nodes
	options   []string
	program   string // of the server; "": redis-server
}

type starter struct {
	*servers.Launcher
	library clock.Library // library that shifts the servers' clocks; "": no library
}

func deployed(start func(ctx context.Context, s starter, nodes int) error) func(context.Context, *servers.Launcher, int) error {
	return func(ctx context.Context, l *servers.Launcher, nodes int) (err error) {
		s := starter{Launcher: l}
		if l.Clock {
			if s.library, err = buildClock(ctx, l); err != nil {
				return err
			}
		}
		return start(ctx, s, nodes)
	}
}

func startIndependent(ctx context.Context, s starter, nodes int) error {
	_, err := s.start(ctx, nodes, kind{options: s.Options})
	return err
}

func startValkey(ctx context.Context, s starter, nodes int) error {
	_, err := s.start(ctx, nodes, kind{program: valkey})
	return err
}

// start starts nodes concurrently. It adds the started nodes to the group, even if other nodes failed to start. It does
// not add Sentinels.
func (s starter) start(ctx context.Context, nodes int, k kind) ([]*node, error) {
	ports := 1
	if k.clustered {
		ports = 2
	}
	started, err := servers.StartAll(nodes, func(int) (*node, error) {
		n := &node{kind: k, library: s.library}
		of := Store()
		of.Prepare, of.Command, of.MoveClock = n.prepare, n.command, n.moveClock
		var err error
		if n.Process, err = s.Start(ctx, of, ports); err != nil {
			return nil, err
		}
		return n, nil
	})
	for _, n := range started {
		if k.watches == nil {
			s.Add(n, n.Version())
		}
	}
	return started, err
}

func (n *node) prepare(_ context.Context, p *servers.Process) (err error) {
	if n.reached {
		if n.forwarder, err = newForwarder(p.Addr()); err != nil {
			return err
		}
		p.Free(n.forwarder.link.Close)
	}
	if n.library == "" {
		return nil
	}
	if n.offset, err = clock.NewOffset(clockFile(p)); err != nil {
		return fmt.Errorf("map the clock offset: %w", err)
	}
	p.Free(n.offset.Close)
	return nil
}

// clockFile returns the path of the file with the offset of the server's clock. The offset survives a restart of the
// server.
func clockFile(p *servers.Process) string { return filepath.Join(p.Dir, "clock") }

// command returns the command that runs a node.
//
// --save "" disables snapshots, and --rdb-del-sync-files removes the copy that a replica received. With a diskless sync
// delay of 0, a replica is synced without waiting for other replicas. The long repl-timeout keeps replication running
// while data is withheld or a clock is moved. A cluster node reads its primary from nodes.conf.
func (n *node) command(p *servers.Process) (*exec.Cmd, error) {
	if n.watches != nil {
		return n.sentinel(p)
	}
	args := []string{"--port", strconv.Itoa(p.Ports[0]), "--bind", "127.0.0.1", "--dir", p.Dir, "--save", "", "--rdb-del-sync-files", "yes"}
	if n.reached {
		args = append(args, "--repl-diskless-sync-delay", "0", "--repl-timeout", "86400",
			"--replica-announce-ip", "127.0.0.1", "--replica-announce-port", n.forwarder.port())
	}
	if n.clustered {
		bus := strconv.Itoa(p.Ports[1])
		args = append(args, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000",
			"--cluster-port", bus, "--cluster-announce-bus-port", bus,
			"--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", n.forwarder.port(),
			"--cluster-replica-no-failover", "yes")
	} else if f := n.follows.Load(); f != nil {
		args = append(args, "--replicaof", "127.0.0.1", f.port())
	}
	cmd := exec.Command(cmp.Or(n.program, program), append(args, n.options...)...)
	if n.offset != nil {
		cmd.Env = append(os.Environ(), n.library.Env(clockFile(p))...)
	}
	return cmd, nil
}

func ask(ctx context.Context, p *servers.Process) (version string, err error) {
	info, err := askInfo(ctx, p.Addr(), "all")
	switch {
	case err != nil:
		return "", err
	case info["process_id"] != strconv.Itoa(p.Pid()):
		return "", servers.ErrOtherServer
	}
	return versionOf(info), loaded(info)
}

// versionOf returns the version of a server. Valkey also states the version of Redis with which it is compatible.
func versionOf(info map[string]string) string {
	return cmp.Or(info["valkey_version"], info["redis_version"])
}

// hasLoaded returns an error while a server loads its data. A loading server answers INFO but no other command.
func hasLoaded(ctx context.Context, addr string) error {
	info, err := askInfo(ctx, addr, "persistence")
	if err != nil {
		return err
	}
	return loaded(info)
}

func loaded(info map[string]string) error {
	if info["loading"] == "1" {
		return errors.New("the server is loading its data")
	}
	return nil
}

func (n *node) awaitInfo(ctx context.Context, what, section string, is func(info map[string]string) bool) error {
	return n.Await(ctx, what, func(ctx context.Context) error {
		info, err := askInfo(ctx, n.Addr(), section)
		if err == nil && !is(info) {
			err = servers.ErrNotYet
		}
		return err
	})
}

func withClient(addr string, do func(*redis.Client) error) error {
	c := quiet(&redis.Options{Addr: addr})
	defer c.Close()
	return do(c)
}

func (n *node) do(ctx context.Context, words ...any) *redis.Cmd {
	c := quiet(&redis.Options{Addr: n.Addr()})
	defer c.Close()
	return c.Do(ctx, words...)
}

// quiet returns a client with one connection. The client sends only the caller's commands and obeys context deadlines.
func quiet(opts *redis.Options) *redis.Client {
	opts.ContextTimeoutEnabled = true
	opts.Protocol, opts.DisableIdentity = 2, true
	opts.DialerRetries, opts.PoolSize = 1, 1
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(opts)
}

// sweepBatch is the number of keys in one command. It is small, so that no command blocks a user's server for long.
const sweepBatch = 500

func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Example: "redis://host:6379", Port: "6379", Secret: true, Anonymous: true, Secure: "rediss",
			Database: regexp.MustCompile(`^[0-9]{0,5}$`)},
		Version: func(ctx context.Context, t servers.Target, _ string) (string, error) {
			info, err := infoOf(ctx, t, "server")
			if err == nil && info["redis_mode"] == "cluster" {
				err = errors.New("the server is part of a Redis Cluster, which is not supported")
			}
			return versionOf(info), err
		},
		Counters: func(ctx context.Context, t servers.Target, _ string) (map[string]float64, error) {
			info, err := infoOf(ctx, t, "all")
			if err != nil {
				return nil, err
			}
			return counters(info)
		},
		Names: func(ctx context.Context, t servers.Target, prefix string) (names []string, err error) {
			err = scan(ctx, t, prefix, func(_ *redis.Client, keys []string) error {
				names = append(names, keys...)
				return nil
			})
			return names, err
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return scan(ctx, t, prefix, func(c *redis.Client, keys []string) error { return c.Unlink(ctx, keys...).Err() })
		},
	}
}

func remotely(t servers.Target, do func(*redis.Client) error) error {
	opts, err := redis.ParseURL(t.URL(t.Hosts()[0]))
	if err != nil { // do not wrap err, because its text may quote the URL
		return errors.New("invalid address")
	}
	if config := t.TLS(); config != nil { // use tls.Dialer, because the TLS dialer of the library ignores the context
		opts.TLSConfig, opts.Dialer = nil, (&tls.Dialer{Config: config}).DialContext
	}
	c := quiet(opts)
	defer c.Close()
	return explain(do(c))
}

func infoOf(ctx context.Context, t servers.Target, section string) (info map[string]string, err error) {
	err = remotely(t, func(c *redis.Client) error {
		text, err := c.Info(ctx, section).Result()
		info = parseInfo(text)
		if err == nil && len(info) == 0 {
			err = errors.New("not a Redis server")
		}
		return err
	})
	return info, err
}

// explain adds a hint to authentication errors.
func explain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch of := Store(); {
	case strings.Contains(text, "NOAUTH"):
		return fmt.Errorf("a password is required: set %s", of.PasswordVariable())
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "AUTH"):
		return errors.New("access denied: check the user and the password")
	}
	return err
}

// scan visits the keys that begin with a prefix. It uses small batches, which do not block a busy server.
func scan(ctx context.Context, t servers.Target, prefix string, visit func(*redis.Client, []string) error) error {
	return remotely(t, func(c *redis.Client) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.Scan(ctx, cursor, literally(prefix)+"*", sweepBatch).Result()
			if err != nil {
				return err
			}
			var ours []string
			for _, key := range keys {
				if strings.HasPrefix(key, prefix) { // check the result of SCAN again, so that no key of another program is removed
					ours = append(ours, key)
				}
			}
			if len(ours) > 0 {
				if err := visit(c, ours); err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
}

func literally(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}
